/* SPDX-License-Identifier: MIT */
#include "apart.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include "sys.h"
#include "thread.h"

#define STACK 65536 /* size: bytes */

struct work {
	void (*fn)(void *arg);
	void *arg;
	int parent;
};

/* It has copies of our descriptors, and what they claim. Where we are killed
 * meanwhile it would wait for ever for a lock that one of us had. */
static FM_FAULT void ends_with_us(void *arg)
{
	const struct work *w = arg;
	long parent;

	fm_sys5(SYS_prctl, PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
	parent = fm_sys0(SYS_getppid);
	if (parent == w->parent || !parent) /* in another namespace */
		w->fn(w->arg);
}

FM_FAULT int fm_apart(void (*fn)(void *arg), void *arg)
{
	struct work w = { fn, arg, fm_sys_getpid() };
	char *stack = fm_sys_anon(STACK);
	uint64_t none = ~0ull, old;
	long pid;

	if (!stack)
		return -ENOMEM;
	fm_sys4(SYS_rt_sigprocmask, 2, &none, &old, 8);
	/* The parent sleeps until the child is done, so the child may use the
	 * parent's thread-local storage. */
	pid = fm_sys_clone_on(CLONE_VM | CLONE_VFORK, stack + STACK,
			      ends_with_us, &w, NULL, NULL);
	if (pid > 0) {
		FM_UP_EACH(apart_begun, tell)
			tell((int)pid);
		fm_sys4(SYS_wait4, pid, NULL, 0x40000000 /* __WALL */, NULL);
	}
	fm_sys4(SYS_rt_sigprocmask, 2, &old, NULL, 8);
	fm_sys_munmap(stack, STACK);
	return pid < 0 ? (int)pid : 0;
}

/* ---- a thread of the moment ---------------------------------------------- */

#define CLOSE_RANGE_OWN 2 /* ABI: CLOSE_RANGE_UNSHARE, Linux 5.9 */

/* Nothing is copied for it: a copy would hold the program's files open. */
static void without_fds(void *arg)
{
	const struct work *w = arg;

	fm_sys3(SYS_close_range, 0, ~0u, CLOSE_RANGE_OWN);
	w->fn(w->arg);
}

#define FLAGS                                                           \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | \
	 CLONE_SYSVSEM | CLONE_VFORK | CLONE_PARENT_SETTID)

/* Who lists the threads finds it for a moment after it has done its work. */
static void wait_until_gone(int tid)
{
	while (!fm_sys3(SYS_tgkill, fm_sys_getpid(), tid, 0))
		fm_sys0(SYS_sched_yield);
}

/* The calling thread sleeps meanwhile, so the other one may use its
 * thread-local storage. */
static bool run_beside(const struct work *w, _Atomic uint32_t *tid)
{
	char *stack = fm_sys_anon(STACK);
	long r;

	if (!stack)
		return false;
	atomic_store(tid, FM_THREAD_BEING_MADE);
	r = fm_sys_clone_on(FLAGS, stack + STACK, without_fds, (void *)w, tid,
			    NULL);
	if (r > 0)
		wait_until_gone((int)r);
	fm_sys_munmap(stack, STACK);
	return r > 0;
}

void fm_apart_from_fds(void (*fn)(void *arg), void *arg)
{
	const struct work w = { fn, arg, 0 };
	_Atomic uint32_t *tid = fm_sys_confined() ? NULL :
						    fm_thread_fds_leave();
	bool done = tid && run_beside(&w, tid);

	if (tid)
		fm_thread_fds_back();
	if (!done)
		fn(arg);
}
