/* SPDX-License-Identifier: MIT */
#include "thread.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <sys/eventfd.h>

#include "engine.h"
#include "fds.h"
#include "life.h"
#include "lock.h"
#include "sys.h"
#include "tls.h"

#if defined(__SANITIZE_THREAD__) || defined(__SANITIZE_ADDRESS__)
#define BY_PTHREAD 1 /* bits: */
#elif defined(__has_feature)
#if __has_feature(thread_sanitizer) || __has_feature(address_sanitizer)
#define BY_PTHREAD 1 /* bits: */
#endif
#endif
#ifdef BY_PTHREAD
#include <pthread.h>
#endif

#define MOST 128
#define STACK ((size_t)256 << 10) /* size: bytes */
#define GUARD ((size_t)64 << 10) /* size: bytes */
#define ORDER_MS 2000

_Atomic bool fm_threads;

static struct thread {
	/* the kernel clears it when the thread has ended */
	_Atomic uint32_t tid;
	bool taken;           /* about to be made; under the lock */
	char *mem;            /* guard, stack, thread-local variables */
	void *(*fn)(void *);
	void *arg;
	_Atomic uint32_t done; /* the last order it has carried out */
	_Atomic(_Atomic uint32_t *) sleeps; /* on that futex */
	bool without_fds; /* of the program's */
	bool free;        /* older than any filter of the program's */
	_Atomic uint32_t moment; /* a thread that works for it, or 0 */
} threads[MOST];
static _Atomic uint32_t top; /* of them that were ever used */

static struct fm_lock lock = FM_LOCK(FM_RANK_LEAF);
static _Atomic uint32_t order; /* the last that was given */
static _Atomic uint32_t carried; /* futex: somebody has carried one out */
static _Atomic bool ending; /* all of them are to */
static _Atomic int bell = -1; /* readable while there is one, for poll(2) */

static _Thread_local struct thread *self;

static cpu_set_t cpus;
static long cpus_len; /* bytes of it that the kernel filled in */

void fm_thread_init(void)
{
	fm_tls_init();
	cpus_len = fm_sys3(SYS_sched_getaffinity, 0, sizeof(cpus), &cpus);
}

unsigned fm_cpus(void)
{
	return cpus_len > 0 ? (unsigned)CPU_COUNT(&cpus) : 1;
}

/* The thread that maps first may be bound to one CPU: that is not for ours. */
void fm_thread_begin(const char *name)
{
	fm_sys5(SYS_prctl, PR_SET_NAME, name, 0, 0, 0);
	if (cpus_len > 0)
		fm_sys3(SYS_sched_setaffinity, 0, cpus_len, &cpus);
}

/* ---- orders ------------------------------------------------------------ */

/* Here a thread waits for work, with no lock and nothing half done. */
static void end_if_told(void)
{
	if (!self || !atomic_load(&ending))
		return;
	atomic_store(&self->sleeps, NULL);
#ifdef BY_PTHREAD
	atomic_store(&self->tid, 0);
#endif
	fm_sys1(SYS_exit, 0);
}

void fm_thread_obey(void)
{
	uint32_t n = atomic_load(&order);

	if (!self || atomic_load(&self->done) == n)
		return;
	FM_UP_EACH(thread_ordered, obey)
		obey();
	atomic_store(&self->done, n);
	atomic_fetch_add(&carried, 1);
	fm_futex_wake(&carried, 1);
}

static void end_or_obey(void)
{
	end_if_told();
	fm_thread_obey();
}

/* An order that comes when it has been looked for and nobody sleeps yet is not
 * lost: who gives it wakes all again and again. */
int fm_thread_wait(_Atomic uint32_t *word, uint32_t val,
		   const struct timespec *timeout)
{
	int r;

	if (self)
		atomic_store(&self->sleeps, word);
	end_or_obey();
	r = fm_futex_wait(word, val, timeout);
	if (self)
		atomic_store(&self->sleeps, NULL);
	end_or_obey();
	return r;
}

void fm_thread_leaves(const _Atomic int *state, int running)
{
	for (int k = 0; k < 100 && atomic_load(state) == running; k++)
		fm_sys_sleep_us(1000);
}

struct timespec fm_timespec_ms(uint64_t ms)
{
	return (struct timespec){ (time_t)(ms / 1000),
				  (long)(ms % 1000) * 1000000 };
}

void fm_thread_sleep_ms(uint64_t ms)
{
	static _Atomic uint32_t never;
	const struct timespec ts = fm_timespec_ms(ms);

	fm_thread_wait(&never, 0, &ts);
}

/* The program may have closed the bell, and its number be something that is
 * always readable. */
static void rang(short revents)
{
	static _Atomic uint32_t in_vain;

	if (!revents) {
		atomic_store(&in_vain, 0);
		return;
	}
	fm_sys_sleep_us(1000);
	if ((revents & POLLNVAL) ||
	    atomic_fetch_add(&in_vain, 1) > 20 * ORDER_MS)
		fm_fd_forget(atomic_exchange(&bell, -1));
}

int fm_thread_poll(struct pollfd *p, unsigned n, int ms)
{
	long got;

	p[n] = (struct pollfd){ .fd = atomic_load(&bell), .events = POLLIN };
	end_or_obey();
	got = fm_sys_poll(p, n + 1, ms);
	end_or_obey();
	if (got <= 0)
		return (int)got;
	rang(p[n].revents);
	return (int)got - (p[n].revents != 0);
}

int fm_thread_from(uint32_t *i)
{
	for (; *i < atomic_load(&top); (*i)++) {
		const uint32_t tid = atomic_load(&threads[*i].tid);

		if (tid)
			return (int)tid;
	}
	return 0;
}

bool fm_thread_any(void)
{
	uint32_t i = 0;

	return fm_thread_from(&i) != 0;
}

bool fm_thread_is(int tid)
{
	for (uint32_t i = 0; i < atomic_load(&top); i++)
		if (atomic_load(&threads[i].tid) == (uint32_t)tid ||
		    atomic_load(&threads[i].moment) == (uint32_t)tid)
			return true;
	return false;
}

bool fm_thread_is_free(void)
{
	return self && self->free && !fm_sys_all_filtered();
}

bool fm_thread_being_made(void)
{
	for (uint32_t i = 0; i < atomic_load(&top); i++)
		if (atomic_load(&threads[i].moment) == FM_THREAD_BEING_MADE)
			return true;
	return false;
}

#define CLOSE_RANGE_OWN 2 /* ABI: CLOSE_RANGE_UNSHARE, Linux 5.9 */

bool fm_thread_fds_close(void)
{
	return !fm_sys3(SYS_close_range, 0, ~0u, CLOSE_RANGE_OWN);
}

bool fm_thread_fds_leave_for_good(void)
{
	if (!fm_thread_fds_close())
		return false;
	fm_thread_fds_leave();
	return true;
}

_Atomic uint32_t *fm_thread_fds_leave(void)
{
	if (!self || self->without_fds)
		return NULL;
	self->without_fds = true;
	return &self->moment;
}

void fm_thread_fds_back(void)
{
	atomic_store(&self->moment, 0);
	self->without_fds = false;
}

FM_FAULT bool fm_thread_without_fds(void)
{
	return self && self->without_fds;
}

static int wake_all(uint32_t n)
{
	int left = 0;

	for (uint32_t i = 0; i < atomic_load(&top); i++) {
		struct thread *t = &threads[i];
		_Atomic uint32_t *word;

		if (!atomic_load(&t->tid) || atomic_load(&t->done) == n)
			continue;
		left++;
		word = atomic_load(&t->sleeps);
		if (word)
			fm_futex_wake(word, INT32_MAX);
	}
	return left;
}

/* The bell is a number in the program's table. Who has another one gets a copy
 * of the descriptor, by a thread of ours that has the program's. */
struct ring {
	int fd;
	bool own;
};

#define PIDFD_ONE_THREAD O_EXCL /* ABI: PIDFD_THREAD, Linux 6.9 */

/* Before Linux 6.9 the main thread's, if it has not ended. */
static int thread_with_fds(void)
{
	long fd = -ESRCH;

	for (uint32_t i = 0; fd < 0 && i < atomic_load(&top); i++) {
		const uint32_t tid = atomic_load(&threads[i].tid);

		if (tid && !threads[i].without_fds)
			fd = fm_sys2(SYS_pidfd_open, tid, PIDFD_ONE_THREAD);
	}
	return (int)(fd < 0 ? fm_sys2(SYS_pidfd_open, fm_sys_getpid(), 0) : fd);
}

static int copy_of(int fd)
{
	const int from = thread_with_fds();

	if (from < 0)
		return from;
	fd = (int)fm_sys3(SYS_pidfd_getfd, from, fd, 0);
	fm_sys_close(from);
	return fd;
}

static struct ring bell_rings(void)
{
	struct ring r = { atomic_load(&bell), false };
	const uint64_t rings = 1;

	r.own = r.fd >= 0 && fm_thread_without_fds();
	if (r.own)
		r.fd = copy_of(r.fd);
	if (fm_sys_is_anon(r.fd))
		fm_sys3(SYS_write, r.fd, &rings, sizeof(rings));
	return r;
}

static void bell_rests(const struct ring *r)
{
	uint64_t rings;

	if (fm_sys_is_anon(r->fd))
		fm_sys3(SYS_read, r->fd, &rings, sizeof(rings));
	if (r->own && r->fd >= 0)
		fm_sys_close(r->fd);
}

int fm_thread_order(uint32_t n)
{
	const struct timespec ms = { 0, 1000000 };
	const uint64_t until = fm_now_ms() + ORDER_MS;
	struct ring r;
	int left;

	atomic_store(&order, n);
	fm_thread_obey();
	r = bell_rings();
	for (;;) {
		uint32_t seen = atomic_load(&carried);

		left = wake_all(n);
		if (!left || fm_now_ms() >= until)
			break;
		fm_futex_wait(&carried, seen, &ms);
	}
	bell_rests(&r);
	return left;
}

static void wake_live(void)
{
	for (uint32_t i = 0; i < atomic_load(&top); i++) {
		_Atomic uint32_t *word = atomic_load(&threads[i].sleeps);

		if (atomic_load(&threads[i].tid) && word)
			fm_futex_wake(word, INT32_MAX);
	}
}

bool fm_thread_end_all(unsigned ms)
{
	const uint64_t until = fm_now_ms() + ms;
	struct ring r;

	atomic_store(&ending, true);
	r = bell_rings();
	while (fm_thread_any() && fm_now_ms() < until) {
		wake_live();
		fm_sys_sleep_us(100);
	}
	atomic_store(&ending, false);
	bell_rests(&r);
	return !fm_thread_any();
}

/* ---- making one -------------------------------------------------------- */

static void thread_main(void *arg)
{
	self = arg;
	self->free = fm_sys_may_ask();
	fm_tls_begin();
	fm_signals_blocked = true; /* for good: sections need no system call */
	end_or_obey();
	FM_UP_EACH(thread_begins, tell)
		tell();
	self->fn(self->arg);
}

static struct thread *thread_take_slot(void)
{
	uint32_t i = 0;

	while (i < MOST && (threads[i].taken || atomic_load(&threads[i].tid)))
		i++;
	if (i == MOST)
		return NULL;
	/* before it is taken: a child of fork looks no further */
	if (i >= atomic_load(&top))
		atomic_store(&top, i + 1);
	threads[i].taken = true;
	return &threads[i];
}

static void open_bell(void)
{
	long fd;

	if (atomic_load(&bell) >= 0)
		return;
	fd = fm_sys2(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK);
	if (fd >= 0)
		atomic_store(&bell, fm_fd_raise((int)fd));
}

void fm_thread_will_poll(void)
{
	FM_HOLD(&lock);
	open_bell();
}

#ifdef BY_PTHREAD

static void *run_as_libcs(void *arg)
{
	struct thread *t = arg;

	atomic_store(&t->tid, (uint32_t)fm_sys_gettid());
	thread_main(t);
	atomic_store(&t->tid, 0);
	return NULL;
}

static int thread_make(struct thread *t)
{
	pthread_t id;
	int err;

	atomic_store(&t->tid, 1);
	err = pthread_create(&id, NULL, run_as_libcs, t);
	if (err)
		atomic_store(&t->tid, 0);
	else
		pthread_detach(id);
	return -err;
}

#else

/* Used again when its thread has ended, or by the child of fork. */
static int get_memory(struct thread *t)
{
	size_t size = GUARD + STACK + fm_tls_size();
	char *mem;

	if (t->mem) {
		fm_tls_clean(t->mem + GUARD + STACK);
		return 0;
	}
	mem = fm_sys_far(size, PROT_NONE);
	if ((uintptr_t)mem >= (uintptr_t)-4095)
		return (int)(intptr_t)mem;
	if (fm_sys_mprotect(mem + GUARD, size - GUARD,
			    PROT_READ | PROT_WRITE)) {
		fm_sys_munmap(mem, size);
		return -ENOMEM;
	}
	t->mem = mem;
	return 0;
}

/* As pthread_create asks for: filters of system calls expect just that. */
#define FLAGS                                                              \
	(CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | \
	 CLONE_SYSVSEM | CLONE_SETTLS | CLONE_PARENT_SETTID |              \
	 CLONE_CHILD_CLEARTID)

static int thread_make(struct thread *t)
{
	int err = get_memory(t);
	char *top_of_stack;
	long r;

	if (err)
		return err;
	top_of_stack = t->mem + GUARD + STACK;
	r = fm_sys_clone_on(FLAGS, top_of_stack, thread_main, t, &t->tid,
			    fm_tls_block(top_of_stack));
	return r < 0 ? (int)r : 0;
}

#endif

/* The mask is inherited. SIGBUS is open, as in each thread: by it faults
 * come. */
static int make_masked(struct thread *t)
{
	uint64_t all = ~(1ull << 6), old;
	int err;

	fm_sys4(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &all, &old, 8);
	atomic_store(&t->moment, FM_THREAD_BEING_MADE);
	err = thread_make(t);
	atomic_store(&t->moment, 0);
	fm_sys4(SYS_rt_sigprocmask, 2 /* SIG_SETMASK */, &old, NULL, 8);
	return err;
}

int fm_thread_create(void *(*fn)(void *), void *arg)
{
	struct thread *t;
	int err = -EAGAIN;

	fm_tls_init(); /* nothing, but for tests of the engine alone */
	FM_HOLD(&lock);
	t = thread_take_slot();
	if (t) {
		t->fn = fn;
		t->arg = arg;
		atomic_store(&t->sleeps, NULL);
		t->without_fds = false;
		atomic_store(&t->moment, 0);
		/* Before it inherits what an order may be about to change, or
		 * what one of ours has, which has not heard it yet. */
		atomic_store(&t->done,
			     atomic_load(self ? &self->done : &order));
		err = make_masked(t);
		t->taken = false;
	}
	return err;
}

bool fm_thread_spare(void)
{
	int fd = atomic_exchange(&bell, -1);

	if (fd >= 0)
		fm_fd_drop(fd);
	return fd >= 0;
}

static void thread_reset(void)
{
	fm_lock_reset(&lock);
	for (uint32_t i = 0; i < atomic_load(&top); i++) {
		threads[i].taken = false;
		atomic_store(&threads[i].tid, 0);
		atomic_store(&threads[i].moment, 0);
	}
	fm_thread_spare();
}

/* A child without an engine may have had one, too (process/fork_bring.c). */
FM_LIFE(thread, .level = FM_LIFE_FAULTS, .forked = thread_reset)
