/* SPDX-License-Identifier: MIT */
/*
 * thread.c - a new thread inherits the kernel's signal mask by itself; what
 * the program believes about SIGBUS has to be handed down. Only threads that
 * need it start through our trampoline. libc's thrd_create calls its
 * pthread_create inside, past our hook, and is wrapped likewise.
 */
#include "shim.h"

#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <threads.h>

#include "lock.h"
#include "tasks.h"

FM_NEXT(pthread_create)
FM_NEXT(pthread_exit)
FM_NEXT(thrd_create)
FM_NEXT(thrd_exit)

/* Optional in the engine: the calling thread is about to end. */
extern void fm_thread_exit(void) __attribute__((weak));
/* glibc 2.32 */
extern __typeof__(pthread_attr_getsigmask_np) pthread_attr_getsigmask_np
	__attribute__((weak));

struct start {
	void *(*posix)(void *);
	int (*c11)(void *);
	void *arg;
	bool view_blocked;
};

/* An attribute may carry a mask of its own; otherwise ours is inherited. */
static bool initial_view(const pthread_attr_t *attr)
{
	sigset_t set;

	if (attr && pthread_attr_getsigmask_np &&
	    pthread_attr_getsigmask_np(attr, &set) == 0)
		return set.__val[0] & FM_BUS_BIT;
	return fm_view_blocked();
}

static struct start *start_new(bool view_blocked, void *arg)
{
	struct start *s = malloc(sizeof(*s));

	if (s)
		*s = (struct start){ .arg = arg,
				     .view_blocked = view_blocked };
	return s;
}

/* Runs before anything of the program does in this thread. SIGBUS may really
 * be blocked here when it came from an attribute. */
static struct start begin(void *arg)
{
	uint64_t bit = FM_BUS_BIT;
	struct start s = *(struct start *)arg;

	free(arg);
	fm_sys4(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, NULL, 8);
	fm_view_set(s.view_blocked);
	return s;
}

static void at_exit(void *unused)
{
	if (fm_thread_exit)
		fm_thread_exit();
}

static void *run_posix(void *arg)
{
	struct start s = begin(arg);
	void *ret;

	pthread_cleanup_push(at_exit, NULL);
	ret = s.posix(s.arg);
	pthread_cleanup_pop(1);
	return ret;
}

static int run_c11(void *arg)
{
	struct start s = begin(arg);
	int ret;

	pthread_cleanup_push(at_exit, NULL);
	ret = s.c11(s.arg);
	pthread_cleanup_pop(1);
	return ret;
}

/* libc stores the id with every signal blocked, when a fault would kill: give
 * it our stack if the program's variable is in managed memory, and pass the
 * id on. (Otherwise directly: the thread may read the variable at once.) */
static int create(pthread_t *ret_id, const pthread_attr_t *attr,
		  void *(*fn)(void *), void *arg)
{
	pthread_t id;
	int r;

	if (!fm_active() || !fm_overlaps(ret_id, sizeof(*ret_id)))
		return FM_LATE(pthread_create)(ret_id, attr, fn, arg);
	r = next_pthread_create(&id, attr, fn, arg);
	if (!r)
		*ret_id = id;
	return r;
}

FM_HOOK int pthread_create(pthread_t *ret_id, const pthread_attr_t *attr,
			   void *(*fn)(void *), void *arg)
{
	struct start *s;
	bool blocked;
	int r;

	if (!fm_on())
		return FM_LATE(pthread_create)(ret_id, attr, fn, arg);
	if (!fm_thread_of_ours)
		atomic_store(&fm_threads, true);
	blocked = initial_view(attr);
	if (!blocked && !fm_thread_exit)
		return create(ret_id, attr, fn, arg);
	s = start_new(blocked, arg);
	if (!s)
		return EAGAIN;
	s->posix = fn;
	r = create(ret_id, attr, run_posix, s);
	if (r)
		free(s);
	return r;
}

FM_HOOK int thrd_create(thrd_t *ret_id, thrd_start_t fn, void *arg)
{
	struct start *s;
	bool blocked;
	int r;

	if (!fm_on())
		return FM_LATE(thrd_create)(ret_id, fn, arg);
	if (!fm_thread_of_ours)
		atomic_store(&fm_threads, true);
	blocked = fm_view_blocked();
	if (!blocked && !fm_thread_exit)
		return next_thrd_create(ret_id, fn, arg);
	s = start_new(blocked, arg);
	if (!s)
		return thrd_nomem;
	s->c11 = fn;
	r = next_thrd_create(ret_id, run_c11, s);
	if (r != thrd_success)
		free(s);
	return r;
}

/* ---- the main thread leaves ------------------------------------------- */

/* A process whose main thread has called pthread_exit ends with its last
 * thread. libc counts the engine's threads among them, so it would never end:
 * somebody has to count the others. */
static long counted; /* the one found last, or 0 */

/* The main thread can be found while it is still about to leave: not to be waited
 * for, since it stays as a zombie to which signals can be sent. */
static bool runs_program(const char *tid, const char *status)
{
	counted = strtol(tid, NULL, 10);
	if (counted == fm_sys_getpid())
		counted = 0;
	return strncmp(status, "Name:\tfastmap-", 14) &&
	       strncmp(status, "Name:\tiou-", 10) &&
	       !strstr(status, "\nState:\tZ");
}

/* Twice: a thread may have ended after it started one that we missed. */
static void *wait_for_last(void *unused)
{
	const struct timespec pause = { 0, 10000000 };
	int alone = 0;

	fm_sys2(SYS_prctl, PR_SET_NAME, "fastmap-exit");
	while (alone < 2) {
		fm_sys_sleep(&pause);
		if (counted && !alone &&
		    !fm_syscall(SYS_tgkill, fm_sys_getpid(), counted, 0))
			continue;
		alone = fm_tasks_any(runs_program) ? 0 : alone + 1;
	}
	exit(0);
}

static void main_leaves(void)
{
	pthread_attr_t attr;
	pthread_t id;
	uint64_t old;

	if (!fm_on() || fm_sys_gettid() != fm_sys_getpid())
		return;
	pthread_attr_init(&attr);
	pthread_attr_setdetachstate(&attr, PTHREAD_CREATE_DETACHED);
	fm_block_signals(&old);
	fm_unblock_setxid();
	FM_LATE(pthread_create)(&id, &attr, wait_for_last, NULL);
	fm_restore_signals(&old);
	pthread_attr_destroy(&attr);
}

FM_HOOK void pthread_exit(void *ret)
{
	main_leaves();
	FM_LATE(pthread_exit)(ret);
	__builtin_unreachable();
}

FM_HOOK void thrd_exit(int ret)
{
	main_leaves();
	FM_LATE(thrd_exit)(ret);
	__builtin_unreachable();
}
