/* SPDX-License-Identifier: MIT */
/*
 * forks.c - copies of the process that libc makes without the handlers of
 * pthread_atfork: _Fork, clone, and syscall() of their numbers. What shares
 * memory with us needs nothing; what shares descriptors only is left alone,
 * for a child must not close what is the parent's.
 */
#include "args.h"
#include "guard.h"
#include "handed.h"
#include "shim.h"

#include <linux/sched.h>
#include <pty.h>
#include <sched.h>
#include <stdarg.h>
#include <unistd.h>

extern pid_t _Fork(void);
extern __typeof__(clone) __clone;

FM_NEXT(_Fork)
FM_NEXT(clone)
FM_NEXT(forkpty)

static bool copies(unsigned long flags)
{
	return !(flags & (CLONE_VM | CLONE_FILES));
}

/* A thread that libc does not know of, or a process in our memory. */
static void shares_ours(unsigned long flags)
{
	if (flags & (CLONE_FILES | CLONE_FS) && !(flags & CLONE_THREAD))
		atomic_store(&fm_files_shared, true);
	if (!(flags & CLONE_VM))
		return;
	if (flags & CLONE_THREAD && !(flags & CLONE_FILES) && fm_on() &&
	    fm_whoami() == FM_ME)
		fm_table_parts();
	fm_threads_come();
	/* As vfork: it may execute what reads our files. */
	if (!(flags & CLONE_THREAD)) {
		fm_flush_if_me();
		fm_memory_shared();
	}
}

static void after(bool child)
{
	const int saved = errno;

	if (child)
		fm_fork_done_child();
	else
		fm_fork_done();
	errno = saved;
}

FM_HOOK pid_t _Fork(void)
{
	pid_t pid;

	fm_fork_begin();
	pid = FM_LATE(_Fork)();
	after(pid == 0);
	return pid;
}

/* ---- clone -------------------------------------------------------------- */

struct start {
	int (*fn)(void *);
	void *arg;
};

/* In the child, whose copy of the parent's stack has *s. */
static int child_main(void *arg)
{
	struct start s = *(struct start *)arg;
	int r;

	after(true);
	r = s.fn(s.arg);
	/* only this thread ends now, not the process */
	fm_helper_end();
	fm_warm_thread_end();
	return r;
}

FM_HOOK int clone(int (*fn)(void *), void *stack, int flags, void *arg, ...)
{
	struct start s = { fn, arg };
	pid_t *parent, *child;
	va_list ap;
	void *tls;
	int r;

	va_start(ap, arg);
	parent = va_arg(ap, pid_t *);
	tls = va_arg(ap, void *);
	child = va_arg(ap, pid_t *);
	va_end(ap);
	shares_ours((unsigned)flags);
	fm_hand_ids((unsigned)flags, parent, child);
	if (!copies((unsigned)flags) || !fn || !stack)
		return FM_LATE(clone)(fn, stack, flags, arg, parent, tls,
				      child);
	fm_fork_begin();
	r = FM_LATE(clone)(child_main, stack, flags, &s, parent, tls, child);
	after(false);
	return r;
}

FM_HOOK __attribute__((alias("clone"))) int
__clone(int (*fn)(void *), void *stack, int flags, void *arg, ...) __THROW;

/* ---- forkpty ------------------------------------------------------------ */

/* Of what it is given the size alone is read by a system call. It returns
 * twice: no place for copies that are given back. */
FM_HOOK int forkpty(int *master, char *name, const struct termios *modes,
		    const struct winsize *size)
{
	struct winsize w;

	if (fm_touches(size, sizeof(w)) && fm_user_read(&w, size, sizeof(w)))
		size = &w;
	return FM_LATE(forkpty)(master, name, modes, size);
}

/* ---- syscall() ---------------------------------------------------------- */

static bool clone3_copies(long args, size_t size)
{
	struct clone_args a = { .flags = 0 };

	fm_hand_clone((void *)args, size);
	if (!fm_user_read(&a, (void *)args, CLONE_ARGS_SIZE_VER0))
		return false;
	shares_ours(a.flags);
	return copies(a.flags) && !a.stack;
}

/* Asked by entry.S: does the call make a copy of the process that returns
 * where we stand? */
__attribute__((used, visibility("hidden"))) bool
fm_syscall_forks(long nr, long a, long b, long c, long d, long e);
bool fm_syscall_forks(long nr, long a, long b, long c, long d, long e)
{
	switch (nr) {
	case __NR_fork:
		return true;
	case __NR_vfork:
		fm_flush_if_me();
		fm_vfork_comes();
		return false;
	case SYS_clone:
		shares_ours((unsigned long)a);
		fm_hand_ids((unsigned long)a, (void *)c,
			    (void *)fm_arch_child_tid(d, e));
		return copies((unsigned long)a) && !b;
	default:
		return clone3_copies(a, (size_t)b);
	}
}

long fm_syscall_fork(long nr, long a, long b, long c, long d, long e)
{
	long r;

	fm_fork_begin();
	r = fm_sys6(nr, a, b, c, d, e, 0);
	after(r == 0);
	return fm_result(r);
}
