/* SPDX-License-Identifier: MIT */
/*
 * thread.c - a new thread inherits the kernel's signal mask by itself; what
 * the program believes about SIGBUS has to be handed down. Only threads that
 * need it start through our trampoline. libc's thrd_create calls its
 * pthread_create inside, past our hook, and is wrapped likewise.
 */
#include "shim.h"

#include <pthread.h>
#include <threads.h>

FM_NEXT(pthread_create)
FM_NEXT(thrd_create)

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

/* Not of malloc: who frees there has an arena of glibc's from then on, with
 * free memory of its own, where a thread that only sleeps would have none. */
static struct start *start_new(bool view_blocked, void *arg)
{
	struct start *s = fm_alloc(sizeof(*s));

	if (s)
		*s = (struct start){ .arg = arg,
				     .view_blocked = view_blocked };
	return s;
}

/* Runs before anything of the program does in this thread. SIGBUS may really
 * be blocked here when it came from an attribute. */
static struct start thread_begin(void *arg)
{
	uint64_t bit = FM_BUS_BIT;
	struct start s = *(struct start *)arg;

	fm_free(arg);
	fm_sys4(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, NULL, 8);
	fm_view_set(s.view_blocked);
	return s;
}

static void thread_at_exit(void *unused)
{
	if (fm_thread_exit)
		fm_thread_exit();
}

static void *run_posix(void *arg)
{
	struct start s = thread_begin(arg);
	void *ret;

	pthread_cleanup_push(thread_at_exit, NULL);
	ret = s.posix(s.arg);
	pthread_cleanup_pop(1);
	return ret;
}

static int run_c11(void *arg)
{
	struct start s = thread_begin(arg);
	int ret;

	pthread_cleanup_push(thread_at_exit, NULL);
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

	if (!fm_looks() || !fm_data_in(ret_id, sizeof(*ret_id)))
		return FM_LATE(pthread_create)(ret_id, attr, fn, arg);
	r = FM_FOUND(pthread_create)(&id, attr, fn, arg);
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
	fm_threads_come();
	blocked = initial_view(attr);
	if (!blocked && !fm_thread_exit)
		return create(ret_id, attr, fn, arg);
	s = start_new(blocked, arg);
	if (!s)
		return EAGAIN;
	s->posix = fn;
	r = create(ret_id, attr, run_posix, s);
	if (r)
		fm_free(s);
	return r;
}

FM_HOOK int thrd_create(thrd_t *ret_id, thrd_start_t fn, void *arg)
{
	struct start *s;
	bool blocked;
	int r;

	if (!fm_on())
		return FM_LATE(thrd_create)(ret_id, fn, arg);
	fm_threads_come();
	blocked = fm_view_blocked();
	if (!blocked && !fm_thread_exit)
		return FM_FOUND(thrd_create)(ret_id, fn, arg);
	s = start_new(blocked, arg);
	if (!s)
		return thrd_nomem;
	s->c11 = fn;
	r = FM_FOUND(thrd_create)(ret_id, run_c11, s);
	if (r != thrd_success)
		fm_free(s);
	return r;
}
