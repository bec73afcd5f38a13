/* SPDX-License-Identifier: MIT */
#include "demand.h"

#include "base/life.h"
#include "base/lock.h"
#include "base/sys.h"
#include "base/thread.h"
#include "ring.h"
#include "store.h"
#include "tunables.h"

#define ONE 256u /* unit: ratios are fixed point */
#define BATCH 32

enum { SLEEP, POLL };
enum { WAITING, TAKEN, DONE, SLEEPING };

struct demand {
	struct fm_io *io;
	struct demand *next;
	_Atomic uint32_t state; /* futex */
};

struct batch {
	struct demand *d[BATCH];
	unsigned n;    /* submitted */
	unsigned left; /* not done */
};

static _Atomic(struct demand *) pending;
static _Atomic uint32_t queued; /* about how many are in it */
static _Atomic uint32_t pollers; /* threads that poll, for any read */
static _Atomic uint64_t polled, batches, reads;

/* Windows of time in which all reads wait in one way. */
static _Atomic uint32_t way = POLL;
static struct fm_lock window_lock;
static _Atomic uint64_t window_end, window_n, last_end;
static _Atomic uint64_t window_busy; /* from read to read */
static _Atomic uint64_t window_took; /* of reads, stalls cut as in device.c */
static _Atomic uint64_t window_from;
static _Atomic uint32_t crowd; /* mean of reads in flight, in %, last window */
static uint64_t pace[2]; /* ns a read, last window of each way */
static uint64_t waited;  /* mean ns of a read, last window */
static uint32_t chosen = POLL;
static enum kind { USUAL, PROBE, TRIAL } kind; /* of this window */
static unsigned windows;
static uint32_t ncpu = 1;

static int demand_start(void)
{
	ncpu = fm_cpus();
	return 0;
}

static void demand_reset(void)
{
	atomic_store(&pending, NULL);
	atomic_store(&queued, 0);
	atomic_store(&pollers, 0);
	fm_lock_reset(&window_lock);
	atomic_store(&window_n, 0);
	atomic_store(&window_busy, 0);
	atomic_store(&window_took, 0);
}

FM_FAULT uint64_t fm_demand_reads(void)
{
	return atomic_load(&reads);
}

uint64_t fm_demand_polled(void)
{
	return atomic_load(&polled);
}

uint64_t fm_demand_batches(void)
{
	return atomic_load(&batches);
}

/* ---- to poll or not to poll -------------------------------------------- */

/*
 * By what both ways have done last: the window in the other way, and the one
 * just before it in this, so that a disk that is slow for some seconds is slow
 * in both. Polling reads go out several at a time, which saves CPU. Sleeping
 * wins where other threads compute, of any program: who is woken up gets the
 * CPU from them, who yields waits for the end of their time slice.
 */
static FM_FAULT bool is_better(void)
{
	uint64_t ratio = pace[SLEEP] * ONE / (pace[POLL] + 1);

	/* and back as soon as polling is as good */
	return chosen == POLL ? ratio < fm_tune.demand_sleep_below :
				ratio >= ONE;
}

/* What the window that ends now has shown. */
static FM_FAULT void sum_up(uint32_t m, uint64_t now)
{
	uint64_t n = atomic_exchange(&window_n, 0);
	uint64_t took = atomic_exchange(&window_took, 0);
	uint64_t from = atomic_exchange(&window_from, now);

	atomic_store(&crowd, (uint32_t)(100 * took / (now - from + 1)));
	fm_count(&reads, n);
	pace[m] = atomic_exchange(&window_busy, 0) / (n + !n);
	waited = took / (n + !n);
}

/*
 * A short probe in the other way flatters it: who has waited gets the CPU first
 * for some milliseconds, and work of others is put off. So what looked better
 * has to be so for a window as long as any other, beside the same window of the
 * chosen way. Where a read takes long no poll sees its end: each would only
 * yield, tens of thousands of times a second.
 */
static FM_FAULT enum kind next_kind(void)
{
	if (waited >= fm_tune.demand_poll_ns) {
		chosen = SLEEP;
		return USUAL;
	}
	if (kind == PROBE && is_better())
		return TRIAL;
	if (kind == TRIAL && is_better()) {
		chosen ^= 1;
		return USUAL;
	}
	return windows == 2 || windows == 4 ||
			       windows % fm_tune.demand_probe_every == 0 ?
		       PROBE :
		       USUAL;
}

/* A probe is as small a part of a window as it is of all windows. */
static FM_FAULT uint64_t length_ns(bool probe)
{
	return probe ? fm_tune.demand_window_ns / fm_tune.demand_probe_every :
		       fm_tune.demand_window_ns;
}

/* A window of time ends: decide how the next one waits. The first one sees
 * the program start up, so that the next are short, too. */
static FM_FAULT void turn_over(uint64_t now)
{
	sum_up(atomic_load(&way), now);
	windows++;
	kind = next_kind();
	atomic_store(&way, kind == USUAL ? chosen : chosen ^ 1);
	atomic_store(&window_end,
		     now + length_ns(kind == PROBE || windows < 4));
}

/*
 * A read has ended. What counts is the time since the end of the one before,
 * of any thread, not how long it took: where CPUs are short, the quicker read
 * may keep all the others waiting. Only when it began later than that, its own
 * time counts; what the program does between two reads says nothing. Nor does
 * a read that a busy device held up for long.
 */
static FM_FAULT void demand_note(uint64_t begin)
{
	uint64_t now = fm_now_ns(), end = atomic_load(&window_end);
	const uint64_t longest = (uint64_t)fm_tune.device_longest_ns;
	uint64_t took = fm_least(now - begin, longest);
	uint64_t last = atomic_exchange(&last_end, now);
	uint64_t gap = now > last ? now - last : 0;

	fm_count(&window_busy, fm_least(took, gap));
	fm_count(&window_took, took);
	if (atomic_fetch_add_explicit(&window_n, 1, memory_order_relaxed) <
		    fm_tune.sample_enough ||
	    now < end || !fm_trylock(&window_lock))
		return;
	if (atomic_load(&window_end) == end)
		turn_over(now);
	fm_unlock(&window_lock);
}

FM_FAULT unsigned fm_demand_waiting(void)
{
	uint64_t end = atomic_load(&window_end);

	return fm_now_ns() > end + fm_tune.demand_window_ns ?
		       0 :
		       atomic_load(&crowd);
}

struct watch {
	uint64_t begin;
	bool over;   /* polled long enough, or it is time to sleep */
	bool shared; /* somebody else has had the CPU */
};

/*
 * Who polls from the kernel, yielding over and over, hears of the device's
 * interrupt later than who is in user mode for most of the time: here, in a
 * virtual machine, by 5 us. But where others wait for the CPU they go first.
 */
static FM_FAULT bool may_spin(const struct watch *w)
{
	return !w->shared &&
	       atomic_load_explicit(&pollers, memory_order_relaxed) <= 2 * ncpu;
}

static FM_FAULT unsigned spin(struct fm_ring *r, const struct watch *w)
{
	uint64_t end;
	unsigned n = 0;

	if (!may_spin(w))
		return 0;
	end = fm_now_ns() + fm_tune.demand_spin_ns;
	while (!(n = fm_ring_look(r)) && may_spin(w) && fm_now_ns() < end)
		fm_cpu_relax();
	return n;
}

static FM_FAULT void spin_on(_Atomic uint32_t *state, uint32_t was,
			     const struct watch *w)
{
	uint64_t end;

	if (!may_spin(w))
		return;
	end = fm_now_ns() + fm_tune.demand_spin_ns;
	while (atomic_load(state) == was && may_spin(w) && fm_now_ns() < end)
		fm_cpu_relax();
}

/* Let others run. */
static FM_FAULT void demand_step(struct watch *w)
{
	uint64_t from = fm_now_ns(), to;

	fm_sys0(SYS_sched_yield);
	to = fm_now_ns();
	w->shared = to - from > fm_tune.demand_away_ns;
	w->over = to - w->begin > fm_tune.demand_poll_ns ||
		  atomic_load_explicit(&way, memory_order_relaxed) == SLEEP;
}

/* ---- batches ----------------------------------------------------------- */

static FM_FAULT void put_pending(struct demand *first, struct demand *last)
{
	last->next = atomic_load(&pending);
	while (!atomic_compare_exchange_weak(&pending, &last->next, first))
		;
}

/* Take from the list what fits, put back the rest. */
static FM_FAULT void take_batch(struct batch *b)
{
	struct demand *d = atomic_exchange(&pending, NULL), *rest;

	atomic_store_explicit(&queued, 0, memory_order_relaxed);
	b->n = 0;
	while (d && b->n < BATCH) {
		atomic_store(&d->state, TAKEN);
		b->d[b->n++] = d;
		d = d->next;
	}
	b->left = b->n;
	if (!d)
		return;
	for (rest = d; rest->next;)
		rest = rest->next;
	put_pending(d, rest);
}

/* Tell the owners of what is done. They may return and be gone at once. */
static FM_FAULT void demand_publish(struct batch *b)
{
	for (unsigned i = 0; i < b->n; i++) {
		struct demand *d = b->d[i];

		if (!d || !d->io->done)
			continue;
		b->d[i] = NULL;
		b->left--;
		if (atomic_exchange(&d->state, DONE) == SLEEPING)
			fm_futex_wake(&d->state, 1);
	}
}

/* Submit the list, stay until all of it is done. False when it was empty. */
static FM_FAULT bool lead(struct watch *w)
{
	struct fm_ring *r = fm_ring_get();
	struct fm_io *io[BATCH];
	struct batch b;

	take_batch(&b);
	for (unsigned i = 0; i < b.n; i++)
		io[i] = b.d[i]->io;
	if (b.n) {
		fm_count(&batches, 1);
		fm_ring_submit(r, io, b.n);
		fm_ring_look(r);
	}
	demand_publish(&b);
	while (b.left) {
		unsigned n = w->over ? fm_ring_reap(r) : spin(r, w);

		if (!n) {
			demand_step(w);
			n = fm_ring_look(r);
		}
		if (n)
			demand_publish(&b);
	}
	fm_ring_put(r);
	return b.n > 0;
}

/* Somebody else has submitted it. */
static FM_FAULT void demand_follow(struct demand *d, struct watch *w)
{
	uint32_t taken = TAKEN;

	while (!w->over && atomic_load(&d->state) == TAKEN) {
		spin_on(&d->state, TAKEN, w);
		if (atomic_load(&d->state) == TAKEN)
			demand_step(w);
	}
	if (!atomic_compare_exchange_strong(&d->state, &taken, SLEEPING))
		return;
	while (atomic_load(&d->state) == SLEEPING)
		fm_futex_wait(&d->state, SLEEPING, NULL);
}

/* Somebody has just taken the list with our read in it. It is a matter of
 * instructions, but a thread of real-time priority may keep it from them. */
static FM_FAULT void pause_for_leader(void)
{
	fm_sys_sleep_us(20);
}

FM_FAULT long fm_demand_do(struct fm_io *io)
{
	struct demand d = { .io = io };
	struct watch w = { .begin = fm_now_ns() };
	uint32_t others;
	long res;

	if (fm_store_of(io->file)->io->wait)
		return fm_io_once(io);
	if (!fm_rings_uring() ||
	    atomic_load_explicit(&way, memory_order_relaxed) == SLEEP) {
		res = fm_io_once(io);
		demand_note(w.begin);
		return res;
	}
	io->done = false;
	put_pending(&d, &d);
	/* Several to a batch when many wait: more may have come before the
	 * turn is ours again. With few, every read starts at once. */
	others = atomic_fetch_add(&pollers, 1);
	if (atomic_fetch_add(&queued, 1) + 1 < others / (2 * ncpu))
		demand_step(&w);
	while (atomic_load(&d.state) != DONE)
		if (atomic_load(&d.state) != WAITING)
			demand_follow(&d, &w);
		else if (!lead(&w))
			pause_for_leader();
	atomic_fetch_sub(&pollers, 1);
	if (!w.over)
		fm_count(&polled, 1);
	demand_note(w.begin);
	return io->res;
}

FM_LIFE(demand, .level = FM_LIFE_IO, .start = demand_start,
	.reset = demand_reset)
