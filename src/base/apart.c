/* SPDX-License-Identifier: MIT */
#include "apart.h"

#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>

#include "event.h"
#include "life.h"
#include "pause.h"
#include "sys.h"
#include "thread.h"

#define STACK 65536 /* size: bytes */
#define MOST 4 /* size: threads that stay */

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

/* ---- threads that stay --------------------------------------------------- */

/*
 * To leave the program's descriptors the kernel copies the first 64 of them and
 * closes the copies (CLOSE_RANGE_UNSHARE from 0 on, too), and file systems of a
 * server are told of each that is closed (FUSE, NFS: flush): a round trip each,
 * what has been written goes out, and where the server is silent it does not
 * end. So that is done once, by a thread that stays, and does what the others
 * ask. Before it does, it makes the next one, which shares its table and so
 * closes nothing: it may wait for a name that nobody answers. Who finds all of
 * them busy has a thread of the moment, as where there is none.
 */

#define FLAGS                                                           \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | \
	 CLONE_SYSVSEM | CLONE_VFORK | CLONE_PARENT_SETTID)

struct ask {
	const struct work *work;
	_Atomic uint32_t done; /* futex */
};

static struct stayer {
	_Atomic(struct ask *) wanted;
	_Atomic bool busy;
	struct fm_event bell;
	_Atomic int is; /* the number of the thread, */
} stayers[MOST];
enum { NOBODY = 0, BEING_MADE = -1, NEVER = -2 };

static bool stayer_lives(struct stayer *s)
{
	const int is = atomic_load(&s->is);

	return is > 0 && fm_thread_is(is) && !fm_sys_confined();
}

/* Once it is done, `a` may be gone. */
static void stayer_does(struct stayer *s, struct ask *a)
{
	atomic_store(&s->busy, true);
	a->work->fn(a->work->arg);
	atomic_store(&s->busy, false);
	atomic_store(&a->done, 1);
	fm_futex_wake(&a->done, 1);
}

static void *stayer_thread(void *arg);

static bool have_stayer(struct stayer *s)
{
	int is = atomic_load(&s->is);

	if (stayer_lives(s))
		return true;
	if (is == BEING_MADE || is == NEVER || fm_sys_confined() ||
	    !atomic_compare_exchange_strong(&s->is, &is, BEING_MADE))
		return false;
	if (!fm_thread_create(stayer_thread, s))
		return true;
	atomic_store(&s->is, NOBODY);
	return false;
}

static bool have_one(void)
{
	return have_stayer(&stayers[0]);
}

/* The others are made by one that has left the program's descriptors. */
static bool stayer_leaves(const struct stayer *s)
{
	if (s == stayers)
		return fm_thread_fds_leave_for_good();
	fm_thread_fds_leave();
	return true;
}

static void *stayer_thread(void *arg)
{
	struct stayer *s = arg;

	fm_thread_begin("fastmap-apart");
	if (!stayer_leaves(s)) {
		atomic_store(&s->is, NEVER);
		return arg;
	}
	atomic_store(&s->is, (int)fm_sys_gettid());
	while (!fm_sys_confined()) {
		const uint32_t seen = fm_event_seen(&s->bell);
		struct ask *a = atomic_exchange(&s->wanted, NULL);

		if (!a) {
			fm_event_wait_alone(&s->bell, seen, NULL);
			continue;
		}
		if (s + 1 < stayers + MOST)
			have_stayer(s + 1);
		stayer_does(s, a);
	}
	atomic_store(&s->is, NOBODY);
	return arg;
}

/* Nobody asks them from then on. Were they all that a main thread leaves which
 * ends alone, as SECCOMP_MODE_STRICT has it, the process would never end. */
void fm_apart_confined(void)
{
	for (unsigned k = 0; k < MOST; k++) {
		struct stayer *s = &stayers[k];
		const int is = atomic_load(&s->is);

		if (is <= 0)
			continue;
		fm_event_raise(&s->bell);
		fm_thread_leaves(&s->is, is);
	}
}

/* Not taken, and it will not be soon: it has ended, or does what another has
 * asked. Where it only has no CPU it is waited for. */
static bool ask_taken_back(struct stayer *s, struct ask *a)
{
	struct ask *is = a;

	return (atomic_load(&s->busy) || !stayer_lives(s)) &&
	       atomic_compare_exchange_strong(&s->wanted, &is, NULL);
}

/* The first may wait for ever where it leaves the descriptors. */
static bool stayer_comes(const struct stayer *s)
{
	return s != stayers && atomic_load(&s->is) == BEING_MADE;
}

/* Another one's may have to be taken first. False: it is busy, or not there. */
static bool stayer_hears(struct stayer *s, struct ask *a)
{
	const struct fm_wait w = fm_wait_for(FM_SECOND_MS);
	bool lives;

	while ((lives = stayer_lives(s) && !atomic_load(&s->busy)) ||
	       stayer_comes(s)) {
		struct ask *none = NULL;

		if (lives &&
		    atomic_compare_exchange_strong(&s->wanted, &none, a))
			return true;
		if (!fm_wait_on(&w))
			break;
	}
	return false;
}

static bool stayer_is_asked(struct stayer *s, const struct work *w)
{
	const struct timespec soon = fm_timespec_ms(FM_SECOND_MS / 50);
	struct ask a = { .work = w };

	if (!stayer_hears(s, &a))
		return false;
	fm_event_raise(&s->bell);
	while (!atomic_load(&a.done))
		if (fm_futex_wait(&a.done, 0, &soon) == -ETIMEDOUT &&
		    ask_taken_back(s, &a))
			return false;
	return true;
}

static bool run_by_one_that_stays(const struct work *w)
{
	bool done = false;

	for (unsigned k = 0; k < MOST && !done && have_one(); k++)
		done = stayer_is_asked(&stayers[k], w);
	return done;
}

/* ---- a thread of the moment ---------------------------------------------- */

static void without_fds(void *arg)
{
	const struct work *w = arg;

	fm_thread_fds_close();
	w->fn(w->arg);
}

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
	bool done = tid && (run_by_one_that_stays(&w) || run_beside(&w, tid));

	if (tid)
		fm_thread_fds_back();
	if (!done)
		fn(arg);
}

/* Before it is needed: the server may be silent then. */
static void apart_beside(void)
{
	have_one();
}

static int apart_start(void)
{
	have_one();
	return 0;
}

static void apart_forked(void)
{
	for (unsigned k = 0; k < MOST; k++) {
		struct stayer *s = &stayers[k];

		atomic_store(&s->is, NOBODY);
		atomic_store(&s->wanted, NULL);
		atomic_store(&s->busy, false);
		fm_event_reset(&s->bell);
	}
}

FM_LIFE(apart, .level = FM_LIFE_HELPERS, .start = apart_start,
	.beside = apart_beside, .forked = apart_forked)
