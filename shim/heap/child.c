/* SPDX-License-Identifier: MIT */
/*
 * child.c - fork. The file is shared with nobody: a child gets a copy of it, or
 * fork fails with ENOMEM and one line. Asked here, for who forks can be told
 * nothing later; made in copy(), when all stands still.
 *
 * Other calls that copy the process (_Fork, clone, forkpty) are not refused:
 * where there can be no copy their child ends, with one line.
 */
#include "heap.h"

#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

#include "base/sys.h"

static _Atomic int forking;
static pid_t (*_Atomic next_fork)(void);

pid_t __fork(void);

static pid_t fork_next(void)
{
	if (!next_fork)
		next_fork = (pid_t(*)(void))dlsym(RTLD_NEXT, "fork");
	return next_fork();
}

HEAP_EXPORT pid_t fork(void)
{
	int err;
	pid_t pid;

	while (atomic_exchange(&forking, 1))
		fm_sys0(SYS_sched_yield);
	err = heap_copy_begin();
	pid = err ? -1 : fork_next();
	if (err)
		errno = -err;
	atomic_store(&forking, 0);
	return pid;
}

HEAP_EXPORT pid_t __fork(void) __attribute__((alias("fork")));
