/* SPDX-License-Identifier: MIT */
/* filter.h - a seccomp filter that kills the process for some system calls, or
 * for all but some. */
#ifndef FILTER_H
#define FILTER_H

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "ct.h"

#define FILTER_MOST 100

/* `listed`: what a call that is among the n of nr gets, `other`: any other one,
 * SECCOMP_RET_x. flags: SECCOMP_FILTER_FLAG_x; without any it is prctl that
 * puts it in place. */
static void ct_filter(const int *nr, size_t n, unsigned listed, unsigned other,
		      unsigned flags)
{
	struct sock_filter f[2 * FILTER_MOST + 2];
	struct sock_fprog prog = { .filter = f };
	unsigned short at = 0;

	f[at++] = (struct sock_filter)BPF_STMT(
		BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr));
	for (size_t k = 0; k < n && k < FILTER_MOST; k++) {
		f[at++] = (struct sock_filter)BPF_JUMP(
			BPF_JMP | BPF_JEQ | BPF_K, (unsigned)nr[k], 0, 1);
		f[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, listed);
	}
	f[at++] = (struct sock_filter)BPF_STMT(BPF_RET | BPF_K, other);
	prog.len = at;
	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) ||
	    (flags ? syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, flags,
			     &prog) :
		     prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &prog)))
		ct_die("seccomp");
}

#endif
