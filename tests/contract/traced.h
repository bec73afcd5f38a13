/* SPDX-License-Identifier: MIT */
/* traced.h - the system calls of a child that stops itself first
 * (PTRACE_TRACEME). */
#ifndef CT_TRACED_H
#define CT_TRACED_H

#include <signal.h>
#include <stdbool.h>
#include <sys/ptrace.h>
#include <sys/user.h>
#include <sys/wait.h>

/* Until it ends: entered is called as each system call begins. */
static void ct_trace(int pid,
		     void (*entered)(const struct user_regs_struct *regs))
{
	struct user_regs_struct regs;
	bool enters = true;
	int status;

	waitpid(pid, &status, 0);
	ptrace(PTRACE_SETOPTIONS, pid, NULL,
	       PTRACE_O_TRACESYSGOOD | PTRACE_O_EXITKILL);
	while (!ptrace(PTRACE_SYSCALL, pid, NULL, NULL) &&
	       waitpid(pid, &status, 0) == pid && WIFSTOPPED(status)) {
		if (WSTOPSIG(status) != (SIGTRAP | 0x80))
			continue; /* a child of its own has ended */
		if (enters && !ptrace(PTRACE_GETREGS, pid, NULL, &regs))
			entered(&regs);
		enters = !enters;
	}
}

#endif
