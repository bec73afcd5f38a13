/* SPDX-License-Identifier: MIT */
#include "base/fds.h"
#include "ring_priv.h"

#include <stdio.h>
#include <string.h>
#include <sys/resource.h>

#include "base/event.h"
#include "base/life.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/pause.h"
#include "base/sys.h"
#include "device.h"
#include "fd_recovery.h"
#include "policy.h"
#include "store.h"
#include "tunables.h"

struct fm_ring fm_ring_pool[FM_MAX_RINGS];
_Atomic uint32_t fm_ring_top;
static struct fm_lock pool_lock;      /* creation only */
static struct fm_event returned;      /* a ring was put back */
static uint32_t pool_limit = FM_MAX_RINGS;

static uint32_t max_files = 512, most_open = 512;

FM_FAULT bool fm_rings_uring(void)
{
	return fm_home.on;
}

uint32_t fm_rings_max_files(void)
{
	return max_files;
}

uint32_t fm_rings_most_open(void)
{
	return most_open;
}

/* ---- setup ------------------------------------------------------------ */

static struct rlimit descriptors(void)
{
	struct rlimit rl = { 1024, 1024 };

	fm_sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &rl);
	return rl;
}

/* Each has a number, four without io_uring: a quarter of all is enough, for the
 * program may have closed its own. */
static uint32_t files_allowed(uint32_t slots)
{
	uint64_t quarter = descriptors().rlim_cur / 4;
	uint64_t most = fm_home.on ? quarter : quarter / 4;

	if (most < 4)
		most = 4;
	return most < slots / 2 ? (uint32_t)most : slots / 2;
}

static uint32_t slots_allowed(void)
{
	struct rlimit rl = descriptors();

	if (rl.rlim_cur > 8192)
		return 8192;
	/* One is left for userfaultfd. */
	return rl.rlim_cur < 5 ? 4 : ((uint32_t)rl.rlim_cur - 1) & ~1u;
}

/* Slots for what is kept, as far as there is room. */
static uint32_t with_kept(uint32_t slots)
{
	return (uint32_t)fm_least(slots + FM_RINGS_KEPT,
				  descriptors().rlim_cur);
}

static void ring_reset(void)
{
	uint32_t n = atomic_load(&fm_ring_top);

	for (uint32_t i = 0; i < n; i++) {
		if (fm_ring_pool[i].uring)
			fm_fd_drop(fm_ring_pool[i].ring.ring_fd);
		/* The rings' memory is not here. */
	}
	fm_sys_clear(fm_ring_pool, sizeof(fm_ring_pool));
	atomic_store(&fm_ring_top, 0);
	fm_lock_reset(&pool_lock);
	fm_event_reset(&returned);
	if (fm_home.on)
		fm_fd_drop(fm_home.ring.ring_fd);
	fm_home = (struct fm_home){ .lock = FM_LOCK(FM_RANK_HOME) };
}

/* ---- pool ------------------------------------------------------------- */

static bool ring_init(struct fm_ring *r)
{
	size_t gens = fm_home.files * sizeof(uint32_t);

	if (!fm_home.on)
		return true;
	if (!r->gen)
		r->gen = fm_sys_anon(2 * gens);
	if (!r->gen)
		return false;
	r->gen_buf = r->gen + fm_home.files;
	if (fm_ring_create(&r->ring, FM_RING_DEPTH, fm_home.files * 2))
		return false;
	r->uring = true;
	return true;
}

static struct fm_ring *pool_grow(void)
{
	struct fm_ring *r = NULL;
	uint32_t n;

	if (!fm_trylock(&pool_lock))
		return NULL;
	n = atomic_load(&fm_ring_top);
	if (n < pool_limit) {
		if (ring_init(&fm_ring_pool[n])) {
			r = &fm_ring_pool[n];
			atomic_store(&r->taken, 1);
			atomic_store(&fm_ring_top, n + 1);
		} else if (n > 0) {
			pool_limit = n; /* out of descriptors or memory */
		}
	}
	fm_unlock(&pool_lock);
	return r;
}

struct fm_ring *fm_ring_own(void)
{
	struct fm_ring *r = pool_grow();

	/* Taken for good. It stays in the table, so that closing a file
	 * reaches its slots; the pool may grow by one more in exchange. */
	if (r && pool_limit < FM_MAX_RINGS)
		pool_limit++;
	return r;
}

void fm_ring_set_bell(struct fm_ring *r, struct fm_event *bell)
{
	r->bell = bell;
}

static FM_FAULT struct fm_ring *pool_take(uint32_t n)
{
	for (uint32_t i = 0; i < n; i++)
		if (!atomic_load_explicit(&fm_ring_pool[i].taken,
					  memory_order_relaxed) &&
		    !atomic_exchange(&fm_ring_pool[i].taken, 1))
			return &fm_ring_pool[i];
	return NULL;
}

static FM_FAULT struct fm_ring *ring_get(void)
{
	for (;;) {
		uint32_t seen = fm_event_seen(&returned);
		uint32_t n = atomic_load(&fm_ring_top);
		struct fm_ring *r = pool_take(n);

		if (r)
			return r;
		if (n < pool_limit && !fm_sys_confined()) {
			r = pool_grow();
			if (r)
				return r;
			/* Somebody else is at it, for a millisecond. */
			fm_sys0(SYS_sched_yield);
			continue;
		}
		fm_event_wait(&returned, seen);
	}
}

FM_FAULT struct fm_ring *fm_ring_get(void)
{
	struct fm_ring *r;

	fm_check_ask(fm_ring_pool, FM_RANK_RING);
	r = ring_get();
	fm_check_got(r, FM_RANK_RING);
	return r;
}

FM_FAULT void fm_ring_put(struct fm_ring *r)
{
	fm_check_put(r);
	atomic_store(&r->taken, 0);
	fm_event_raise(&returned);
}

FM_FAULT unsigned fm_ring_inflight(const struct fm_ring *r)
{
	return r->inflight;
}

static bool first_ring(void)
{
	struct fm_ring *r = pool_grow();

	if (r)
		fm_ring_put(r);
	return r != NULL;
}

int fm_rings_start(uint32_t limit, bool use_uring)
{
	uint32_t slots = slots_allowed();
	int err = -ENOSYS;

	pool_limit = limit < 1		    ? 1
		     : limit > FM_MAX_RINGS ? FM_MAX_RINGS
					    : limit;
	if (use_uring)
		err = fm_ring_create(&fm_home.ring, 8, with_kept(slots));
	fm_home.on = err == 0;
	fm_home.files = slots / 2;
	atomic_store(&fm_home.kept, 0);
	/* The first pool ring now: a fault must never find none. */
	if (fm_home.on && !first_ring()) {
		err = -EMFILE;
		fm_fd_drop(fm_home.ring.ring_fd);
		fm_home.on = false;
	}
	if (!fm_home.on && !first_ring())
		return -ENOMEM;
	most_open = files_allowed(slots);
	max_files = slots / 2;
	if (fm_home.on) {
		fm_ring_dup_probe();
		return 0;
	}
	if (use_uring && err != -ENOSYS && err != -EPERM)
		fm_log(FM_LOG_INFO, "io_uring: errno %d", -err);
	return 1;
}

/* ---- transfers -------------------------------------------------------- */

FM_FAULT int fm_allocate_mode(const struct fm_io *io)
{
	return FALLOC_FL_KEEP_SIZE |
	       (io->punch ? FALLOC_FL_PUNCH_HOLE : 0) |
	       (io->unshare ? FALLOC_FL_UNSHARE_RANGE : 0);
}

FM_FAULT void fm_ring_finish(struct fm_ring *r, struct fm_io *io, long res)
{
	io->res = (int32_t)res;
	fm_device_end(io);
	io->done = true;
	r->ios++;
}

/*
 * The block layer hands a lone request of a device with an I/O scheduler to a
 * kernel worker, which costs a wake-up; requests under a plug are dispatched
 * by the submitter itself. io_uring plugs when a submission has more than two
 * entries (IO_PLUG_THRESHOLD, Linux 5.10 to 6.18 at least): fill up with
 * no-ops that leave no completion.
 */
static FM_FAULT void fill_to_plug(struct fm_ring *r, unsigned n)
{
	for (; n < 3; n++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&r->ring);

		if (!sqe)
			return;
		memset(sqe, 0, sizeof(*sqe));
		sqe->opcode = IORING_OP_NOP;
		sqe->flags = IOSQE_CQE_SKIP_SUCCESS;
		sqe->fd = -1;
	}
}

static FM_FAULT bool ring_begin(struct fm_ring *r, struct fm_io *io)
{
	const struct fm_store_io *s = fm_store_of(io->file)->io;

	switch (io->op) {
	case FM_READ:
		return s->read(r, io);
	case FM_WRITE:
		return s->write(r, io);
	case FM_FSYNC:
		return s->sync(r, io);
	default:
		return s->allocate(r, io);
	}
}

/* Queue without entering the kernel. */
static FM_FAULT void ring_queue(struct fm_ring *r, struct fm_io **ios,
				unsigned n)
{
	unsigned queued = 0;

	for (unsigned i = 0; i < n; i++) {
		ios[i]->done = false;
		fm_device_begin(ios[i]);
		if (ring_begin(r, ios[i]))
			queued++;
		else
			r->early++;
	}
	r->inflight += queued;
	if (queued && (ios[0]->op != FM_READ || !ios[0]->nowait))
		fill_to_plug(r, queued);
}

FM_FAULT void fm_ring_submit(struct fm_ring *r, struct fm_io **ios,
			     unsigned n)
{
	int err;

	ring_queue(r, ios, n);
	if (!r->uring || !r->inflight)
		return;
	do { /* EINTR, EAGAIN, EBUSY: completions are reaped below us */
		err = io_uring_submit(&r->ring);
		if (fm_is_lost(err)) {
			fm_recover_ring(r);
			return;
		}
	} while (err < 0);
}

FM_FAULT unsigned fm_ring_reap_ready(struct fm_ring *r)
{
	struct io_uring_cqe *cqe;
	unsigned n = 0;

	while (io_uring_peek_cqe(&r->ring, &cqe) == 0) {
		struct fm_io *io = (struct fm_io *)(uintptr_t)cqe->user_data;

		fm_ring_finish(r, io, cqe->res);
		io_uring_cqe_seen(&r->ring, cqe);
		r->inflight--;
		n++;
	}
	return n;
}

FM_FAULT unsigned fm_ring_look(struct fm_ring *r)
{
	unsigned n = r->early;

	r->early = 0;
	return r->uring && r->inflight ? n + fm_ring_reap_ready(r) : n;
}

FM_FAULT unsigned fm_ring_reap(struct fm_ring *r)
{
	unsigned n = fm_ring_look(r);

	while (!n && r->uring && r->inflight) {
		r->slept++;
		if (fm_is_lost(io_uring_submit_and_wait(&r->ring, 1)))
			fm_recover_ring(r);
		n = fm_ring_look(r);
	}
	return n;
}

/* Submits and sleeps in one system call. Returns the result. */
FM_FAULT static long submit_and_wait(struct fm_ring *r, struct fm_io *io)
{
	ring_queue(r, &io, 1);
	while (!io->done)
		fm_ring_reap(r);
	r->early = 0;
	return io->res;
}

static FM_FAULT long ring_once(struct fm_io *io)
{
	struct fm_ring *r = fm_ring_get();
	long res = submit_and_wait(r, io);

	fm_ring_put(r);
	return res;
}

/* What the kernel does in a worker of the thread's, it cancels where it can
 * make none: there are as many tasks as there may be. */
static FM_FAULT long once_more(struct fm_io *io)
{
	const struct fm_wait w = fm_wait_for(fm_tune.moment_ms);
	long res = -ECANCELED;

	while (res == -ECANCELED && fm_wait_on(&w))
		res = ring_once(io);
	return res;
}

/* Without a ring: it may take long, and others want one. */
static FM_FAULT long wait_for(struct fm_io *io, long (*wait)(struct fm_io *io))
{
	fm_device_begin(io);
	io->res = (int32_t)wait(io);
	fm_device_end(io);
	io->done = true;
	return io->res;
}

FM_FAULT long fm_io_once(struct fm_io *io)
{
	const struct fm_store_io *s = fm_store_of(io->file)->io;
	long res;

	if (s->wait)
		return wait_for(io, s->wait);
	res = ring_once(io);
	return res == -ECANCELED ? once_more(io) : res;
}

void fm_ring_stats(struct fm_ring_stats *ret)
{
	uint32_t n = atomic_load(&fm_ring_top);

	memset(ret, 0, sizeof(*ret));
	ret->rings = n;
	for (uint32_t i = 0; i < n; i++) {
		ret->ios += fm_ring_pool[i].ios;
		ret->slept += fm_ring_pool[i].slept;
	}
	ret->max_depth = n;
}

static int ring_start(void)
{
	const struct fm_settings *s = fm_settings();
	int err = fm_rings_start(s->ring_limit, s->uring);

	if (err > 0 && s->uring)
		fm_log(FM_LOG_NOTE, "io_uring is not available: using "
		       "pread and pwrite (slower)");
	return err < 0 ? err : 0;
}

FM_LIFE(rings, .level = FM_LIFE_IO, .start = ring_start, .reset = ring_reset,
	.what = "device I/O", .remedy = "see fastmap doctor")
