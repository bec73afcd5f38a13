/* SPDX-License-Identifier: MIT */
/* counted.h - how often a child makes a system call: a tracer counts. */
#ifndef COUNTED_H
#define COUNTED_H

#include <signal.h>
#include <sys/ptrace.h>

#include "ct.h"

static bool is_counted(pid_t pid, uint64_t nr, uint64_t second)
{
	struct __ptrace_syscall_info i;

	return ptrace(PTRACE_GET_SYSCALL_INFO, pid, sizeof(i), &i) > 0 &&
	       i.op == PTRACE_SYSCALL_INFO_ENTRY && i.entry.nr == nr &&
	       (!second || i.entry.args[1] == second);
}

static pid_t traced_child(void (*child)(void))
{
	pid_t pid = fork();

	if (pid)
		return pid;
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(1);
	raise(SIGSTOP);
	child();
	_exit(0);
}

/* second: its second argument, or 0: whatever that is. *ret_status: how the
 * child ended. */
static int traced_count(void (*child)(void), uint64_t nr, uint64_t second,
			int *ret_status)
{
	pid_t pid = traced_child(child);
	int n = 0;

	waitpid(pid, ret_status, 0);
	ptrace(PTRACE_SETOPTIONS, pid, NULL, PTRACE_O_TRACESYSGOOD);
	while (WIFSTOPPED(*ret_status)) {
		int sig = WSTOPSIG(*ret_status);
		const bool call = sig == (SIGTRAP | 0x80);

		n += call && is_counted(pid, nr, second);
		ptrace(PTRACE_SYSCALL, pid, NULL,
		       (long)(call || sig == SIGSTOP ? 0 : sig));
		waitpid(pid, ret_status, 0);
	}
	return n;
}

#endif
