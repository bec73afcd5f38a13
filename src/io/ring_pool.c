/* SPDX-License-Identifier: MIT */
/* ring_pool.c - how many rings and slots there are, and whose turn it is. */
#include "base/fds.h"
#include "ring_priv.h"

#include <string.h>
#include <sys/resource.h>

#include "base/event.h"
#include "base/life.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/sys.h"
#include "policy.h"

static struct fm_ring ring_pool[FM_MAX_RINGS];
static _Atomic uint32_t ring_top;     /* rings created so far */
static struct fm_lock pool_lock;      /* creation only */
static struct fm_event returned;      /* a ring was put back */
static uint32_t pool_limit = FM_MAX_RINGS;

static uint32_t max_files = 512, most_open = 512;

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
	uint32_t n = atomic_load(&ring_top);

	for (uint32_t i = 0; i < n; i++) {
		if (ring_pool[i].uring)
			fm_fd_drop(ring_pool[i].ring.ring_fd);
		/* The rings' memory is not here. */
	}
	fm_sys_clear(ring_pool, sizeof(ring_pool));
	atomic_store(&ring_top, 0);
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
	r->ino = fm_ring_ino(&r->ring);
	r->uring = true;
	return true;
}

static struct fm_ring *pool_grow(void)
{
	struct fm_ring *r = NULL;
	uint32_t n;

	if (!fm_trylock(&pool_lock))
		return NULL;
	n = atomic_load(&ring_top);
	if (n < pool_limit) {
		if (ring_init(&ring_pool[n])) {
			r = &ring_pool[n];
			atomic_store(&r->taken, 1);
			atomic_store(&ring_top, n + 1);
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
		if (!atomic_load_explicit(&ring_pool[i].taken,
					  memory_order_relaxed) &&
		    !atomic_exchange(&ring_pool[i].taken, 1))
			return &ring_pool[i];
	return NULL;
}

static FM_FAULT struct fm_ring *ring_get(void)
{
	for (;;) {
		uint32_t seen = fm_event_seen(&returned);
		uint32_t n = atomic_load(&ring_top);
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

	fm_check_ask(ring_pool, FM_RANK_RING);
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
	fm_home.ino = fm_home.on ? fm_ring_ino(&fm_home.ring) : 0;
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

/* ---- files -------------------------------------------------------------- */

#define SLOTS 128 /* at a time */

static void clear_slots(int ring_fd, uint32_t first, uint32_t n)
{
	int none[SLOTS];
	struct io_uring_files_update up = {
		.offset = first,
		.fds = (uintptr_t)none,
	};

	memset(none, 0xff, sizeof(none));
	for (; n; n -= (uint32_t)fm_least(n, SLOTS), up.offset += SLOTS)
		fm_sys4(SYS_io_uring_register, ring_fd,
			IORING_REGISTER_FILES_UPDATE, &up, fm_least(n, SLOTS));
}

static void ring_pool_release(uint32_t top, int home)
{
	uint32_t n = atomic_load(&ring_top);

	if (!fm_home.on || !top)
		return;
	for (uint32_t i = 0; i < n; i++)
		if (ring_pool[i].uring && ring_pool[i].gen)
			clear_slots(ring_pool[i].ring.ring_fd, 0, top * 2);
	clear_slots(home, 0, top * 2);
}

void fm_rings_release(uint32_t top)
{
	ring_pool_release(top, fm_home.ring.ring_fd);
}

/* Rings made since it started it does not have: they go with the memory. */
void fm_rings_release_dead(uint32_t top)
{
	ring_pool_release(top, fm_home.guard_fd);
}

void fm_ring_close(struct fm_file *f)
{
	uint32_t n = atomic_load(&ring_top);

	if (!fm_home.on) /* the rings are those of the parent */
		return;
	for (uint32_t i = 0; i < n; i++) {
		struct fm_ring *r = &ring_pool[i];

		if (r->uring && r->gen && (r->gen[f->id] ||
					   r->gen_buf[f->id]))
			clear_slots(r->ring.ring_fd, f->id * 2, 2);
	}
	clear_slots(fm_home.ring.ring_fd, f->id * 2, 2);
}

void fm_ring_stats(struct fm_ring_stats *ret)
{
	uint32_t n = atomic_load(&ring_top);

	memset(ret, 0, sizeof(*ret));
	ret->rings = n;
	for (uint32_t i = 0; i < n; i++) {
		ret->ios += ring_pool[i].ios;
		ret->slept += ring_pool[i].slept;
	}
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
