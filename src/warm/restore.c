/* SPDX-License-Identifier: MIT */
/*
 * restore.c - in the order of the file, many reads at a time, behind what the
 * program waits for itself. If not all has room, what was hottest goes first.
 *
 * What the engine serves is read by chunks that are mapped when they land, so
 * that a touch later on is no fault at all. They take 31/32 of the cache at
 * most: nothing is evicted for them. What the kernel serves it is asked to
 * read, while memory is free.
 */
#include "restore.h"

#include <string.h>

#include "base/epoch.h"
#include "base/life.h"
#include "base/lock.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/thread.h"
#include "cache/cache.h"
#include "io/io.h"
#include "map/map.h"
#include "policy.h"
#include "ranges.h"
#include "readahead/readahead.h"
#include "tunables.h"

#define MAJOR "\npgmajfault "
#define LOOK_MS 1u /* unit: between two looks at what is in flight */

struct job {
	struct fm_warm_record *r;
	bool (*goes_on)(void);
	uint64_t reads; /* of the program, before */
	unsigned level; /* at least so hot */
	bool shorts;    /* short runs, too */
	bool full;      /* no room for more */
	bool cache_full, memory_full;
	/* where the kernel serves: */
	struct fm_fetch fetch;
	uint64_t left;     /* short pieces that may be asked for */
	uint64_t first;    /* faults on the machine, before */
	uint64_t faults;   /* ... at the last look */
	uint64_t paid;     /* ... that short pieces were allowed for */
	uint64_t quiet_ms; /* when there was one last */
};

static bool restore_is_over(const struct job *j)
{
	return j->full || !j->goes_on();
}

/* ---- does anybody wait for the device? ----------------------------------- */

/* Faults so far that have waited for a read, of the machine: who waits may be a
 * child of fork, or another process on that file. */
static uint64_t machines_faults(void)
{
	char text[8192];
	const char *at = NULL;
	uint64_t n = 0;

	if (fm_read_small("/proc/vmstat", text, sizeof(text)) > 0)
		at = strstr(text, MAJOR);
	if (at)
		fm_number(at + strlen(MAJOR), &n);
	return n;
}

/* ---- which pages come next --------------------------------------------- */

static uint64_t restore_next_page(const struct job *j, uint64_t fp)
{
	return fm_warm_next(&j->r->old, fp, j->level);
}

/* From page fp on: pages to read together, up to `most`. */
static uint64_t run_length(const struct job *j, uint64_t fp, uint64_t most)
{
	uint64_t n = 1, k;

	for (k = 1; k < most && k - n <= fm_tune.warm_gap; k++)
		if (fm_warm_level(&j->r->old, fp + k) >= j->level)
			n = k + 1;
	return n;
}

/* They have been asked for. */
static void done(const struct job *j, uint64_t fp, uint64_t n)
{
	struct fm_warm_pages *p = &j->r->old;
	uint64_t old, hot = 0;

	fm_block_signals(&old);
	fm_lock(&fm_warm_lock);
	for (uint64_t k = fp; k < fp + n && k < p->n; k++) {
		hot += fm_warm_level(p, k) != FM_HOT_NONE;
		fm_warm_set(p, k, FM_HOT_NONE);
	}
	fm_unlock(&fm_warm_lock);
	fm_restore_signals(&old);
	fm_count(&j->r->brought, hot);
}

/* ---- what the engine serves -------------------------------------------- */

/* In an epoch. */
static struct fm_map *map_at(const struct job *j, uint64_t fp, uint64_t *ret_i)
{
	struct fm_file *f;
	struct fm_map *m;

	fm_for_each_file(f, id) {
		if (f->dev != j->r->dev || f->ino != j->r->ino)
			continue;
		fm_for_each_map(m, f)
			if (fm_map_covers(m, fp, ret_i) &&
			    !fm_map_is_window(m))
				return m;
	}
	return NULL;
}

struct flight {
	unsigned chunks;
	uint64_t pages;
};

static struct flight restore_in_flight(void)
{
	struct flight n = { 0 };

	for (int k = 0; k < fm_chunk_top(); k++) {
		const struct fm_chunk *c = &fm_chunks[k];
		const uint32_t s = atomic_load(&c->state);

		if ((s == CH_QUEUED || s == CH_INFLIGHT) && c->eager) {
			n.chunks++;
			n.pages += c->n;
		}
	}
	return n;
}

/* Twice what eviction keeps free stays so. */
static bool restore_has_room(const struct flight *now, uint64_t n)
{
	const uint64_t limit = fm_cache_limit();

	return (uint64_t)fm_cache_resident() + now->pages + n <
	       limit - 2 * limit / fm_tune.evictor_free;
}

/* Each short read makes what the program waits for slower, at once, and saves
 * it a read if it comes back to that page, some time: so there are the more of
 * them the longer it has gone on reading. */
static unsigned most_shorts(const struct job *j)
{
	return 1 + (unsigned)((fm_demand_reads() - j->reads) /
			      fm_tune.warm_pace);
}

static bool is_turn(const struct job *j, const struct flight *now)
{
	const unsigned most =
		fm_fetch_depth(j->r->dev,
			       now->chunks ? now->pages / now->chunks : 1,
			       LOOK_MS);

	if (j->shorts && fm_demand_waiting() >= fm_tune.warm_busy)
		return now->chunks < fm_least(most, most_shorts(j));
	return now->chunks < most;
}

/* Until there are few enough, and room. The cache grows into free memory step
 * by step (cache/budget.h). */
static void wait_turn(struct job *j)
{
	const uint64_t until = fm_now_ms() + FM_SECOND_MS;

	while (!restore_is_over(j)) {
		const struct flight now = restore_in_flight();
		const bool room = restore_has_room(&now, 1);

		if (room && is_turn(j, &now))
			return;
		j->full = !room && fm_now_ms() > until;
		fm_thread_sleep_ms(LOOK_MS);
	}
}

/* Pages from fp on that have been dealt with, or are left for the shorts; 0:
 * later. */
static uint64_t restore_read_some(const struct job *j, struct fm_map *m,
				  uint64_t i, uint64_t fp, bool *ret_left)
{
	const uint64_t at = (uintptr_t)fm_map_addr(m, i) >> FM_PAGE_SHIFT;
	uint64_t n = fm_least(fm_map_pages(m) - i,
			      FM_HUGE_PAGES - at % FM_HUGE_PAGES);

	n = fm_least(n, j->r->old.n - fp);
	n = run_length(j, fp, n);
	if (n >= fm_tune.warm_long || j->shorts)
		return fm_fetch_chunk(m, i, i + n, FM_CHUNK_EAGER);
	*ret_left = true;
	return n;
}

/* False: no mapping of the engine's has this page. */
static bool restore_read_at(struct job *j, uint64_t *fp)
{
	for (int k = 0; k < (int)fm_tune.patience_ms && !restore_is_over(j);
	     k++) {
		const unsigned e = fm_epoch_enter();
		uint64_t i, n = 0;
		bool left = false;
		struct fm_map *m = map_at(j, *fp, &i);

		if (m)
			n = restore_read_some(j, m, i, *fp, &left);
		fm_epoch_leave(e);
		if (!m)
			return false;
		if (n) {
			if (!left)
				done(j, *fp, n);
			*fp += n;
			return true;
		}
		fm_thread_sleep_ms(1);
	}
	j->full = true;
	return true;
}

static void by_engine(struct job *j)
{
	const uint64_t end = j->r->old.n;

	for (uint64_t fp = restore_next_page(j, 0);
	     fp < end && !restore_is_over(j); fp = restore_next_page(j, fp)) {
		wait_turn(j);
		if (!restore_is_over(j) && !restore_read_at(j, &fp))
			fp = (fp / FM_HUGE_PAGES + 1) * FM_HUGE_PAGES;
	}
}

/* ---- what the kernel serves -------------------------------------------- */

/* Sets how many short pieces may be asked for. While somebody waits for the
 * device they are a part of what it reads for him, a larger one the longer that
 * goes on (most_shorts). */
static void look_who_waits(struct job *j)
{
	const uint64_t faults = machines_faults(), ms = fm_now_ms();
	const uint64_t new = faults - j->paid;

	if (faults != j->faults)
		j->quiet_ms = ms;
	j->faults = faults;
	j->left = ms - j->quiet_ms > fm_tune.resident_turn_ms ?
			  (uint64_t)FM_FETCH_MOST :
			  new / 4 + new * (faults - j->first) /
					    (16 * fm_tune.warm_pace);
	if (j->left)
		j->paid = faults;
}

static void wait_kernel_turn(struct job *j)
{
	while (j->shorts && !j->left && !restore_is_over(j)) {
		fm_thread_sleep_ms(LOOK_MS);
		look_who_waits(j);
	}
	j->left -= j->left != 0;
}

static void restore_ask_kernel(struct job *j, const struct fm_krange *r,
			       uint64_t fp, uint64_t n)
{
	const uint64_t at = r->start + ((fp - r->pgoff) << FM_PAGE_SHIFT);
	struct fm_fetch_run run = { at, at + (n << FM_PAGE_SHIFT) };

	/* There may be an order. */
	while (fm_fetch_run(&j->fetch, &run, fm_tune.resident_turn_ms) &&
	       !j->fetch.full && !restore_is_over(j))
		;
	n -= (run.end - run.start) >> FM_PAGE_SHIFT;
	done(j, fp, n);
	j->full = j->fetch.full;
}

/* Where something else lies by now no harm is done. */
static void restore_of_range(struct job *j, const struct fm_krange *r)
{
	const uint64_t end = fm_least(j->r->old.n, r->pgoff +
				      ((r->end - r->start) >> FM_PAGE_SHIFT));
	uint64_t n;

	for (uint64_t fp = restore_next_page(j, r->pgoff);
	     fp < end && !restore_is_over(j);
	     fp = restore_next_page(j, fp + n)) {
		n = run_length(j, fp, fm_least(end - fp, fm_tune.warm_long));
		if (!j->shorts && n + fm_tune.warm_gap < fm_tune.warm_long)
			continue;
		n = fm_least(n, j->fetch.piece >> FM_PAGE_SHIFT);
		wait_kernel_turn(j);
		if (restore_is_over(j))
			return;
		restore_ask_kernel(j, r, fp, n);
	}
}

static void by_kernel(struct job *j)
{
	struct fm_warm_ranges list = fm_warm_ranges_of(j->r->dev, j->r->ino,
						       false);

	for (unsigned i = 0; i < list.n && !restore_is_over(j); i++)
		restore_of_range(j, &list.at[i]);
	fm_warm_ranges_free(&list);
}

/* ---- all of it --------------------------------------------------------- */

/* May all of it come, so that one way through the file will do? */
static bool all_fits(const struct fm_warm_record *r)
{
	const struct flight none = { 0 };
	const uint64_t n = atomic_load(&r->known) - atomic_load(&r->brought);

	return restore_has_room(&none, n) && fm_fetch_fits(n << FM_PAGE_SHIFT);
}

static void go_through(struct job *j, bool shorts)
{
	j->shorts = shorts;
	j->full = j->cache_full;
	by_engine(j);
	j->cache_full = j->full;
	j->full = j->memory_full;
	by_kernel(j);
	j->memory_full = j->full;
	j->full = j->cache_full && j->memory_full;
}

void fm_warm_restore(struct fm_warm_record *r, bool (*goes_on)(void))
{
	const uint64_t faults = machines_faults();
	struct job j = { .r = r,
			 .goes_on = goes_on,
			 .reads = fm_demand_reads(),
			 .first = faults,
			 .faults = faults,
			 .paid = faults,
			 .quiet_ms = fm_now_ms() };
	const bool fits = all_fits(r);

	fm_fetch_begin(&j.fetch, -1, r->dev, false);
	j.fetch.room = FM_FETCH_FREE;
	j.level = FM_HOT_PAST;
	if (fits)
		go_through(&j, false);
	for (j.level = FM_HOT_MAIN; j.level && !restore_is_over(&j);
	     j.level--) {
		if (!fits)
			go_through(&j, false);
		go_through(&j, true);
	}
}
