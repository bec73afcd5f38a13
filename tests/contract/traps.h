/* SPDX-License-Identifier: MIT */
/* traps.h - how often a thread makes one of two system calls, each of which
 * fails. By a filter that is put in place by an instruction of our own: no
 * library knows, and makes fewer of them for that. */
#ifndef TRAPS_H
#define TRAPS_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "ct.h"

static _Atomic int trapped;

static void on_trap(int sig CT_UNUSED)
{
	trapped++;
}

static long raw3(long nr, long a, long b, long c)
{
	long r;

	__asm__ volatile("syscall" : "=a"(r) : "a"(nr), "D"(a), "S"(b), "d"(c)
			 : "rcx", "r11", "memory");
	return r;
}

/* Of this thread only. */
static void trap_calls(unsigned one, unsigned other)
{
	struct sock_filter code[] = {
		BPF_STMT(BPF_LD | BPF_W | BPF_ABS,
			 offsetof(struct seccomp_data, nr)),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, one, 1, 0),
		BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, other, 0, 1),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_TRAP),
		BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
	};
	struct sock_fprog prog = { sizeof(code) / sizeof(*code), code };

	signal(SIGSYS, on_trap);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	if (raw3(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, (long)&prog))
		ct_skip("no seccomp");
}

#endif
