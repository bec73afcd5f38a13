/* SPDX-License-Identifier: MIT */
#include "apart.h"

#include <sched.h>

#include "sys.h"

#define STACK 65536

void (*fm_apart_begun)(int pid);

FM_FAULT int fm_apart(void (*fn)(void *arg), void *arg)
{
	char *stack = fm_sys_anon(STACK);
	uint64_t none = ~0ull, old;
	long pid;

	if (!stack)
		return -ENOMEM;
	fm_sys4(SYS_rt_sigprocmask, 2, &none, &old, 8);
	/* The parent sleeps until the child is done, so the child may use the
	 * parent's thread-local storage. */
	pid = fm_sys_clone_on(CLONE_VM | CLONE_VFORK, stack + STACK, fn, arg,
			      NULL, NULL);
	if (pid > 0) {
		if (fm_apart_begun)
			fm_apart_begun((int)pid);
		fm_sys4(SYS_wait4, pid, NULL, 0x40000000 /* __WALL */, NULL);
	}
	fm_sys4(SYS_rt_sigprocmask, 2, &old, NULL, 8);
	fm_sys_munmap(stack, STACK);
	return pid < 0 ? (int)pid : 0;
}
