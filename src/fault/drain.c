/* SPDX-License-Identifier: MIT */
#include "drain.h"

#include "base/epoch.h"
#include "base/pause.h"
#include "file/file.h"
#include "freeze.h"
#include "map/map.h"
#include "map_edit.h"
#include "readahead/readahead.h"
#include "tunables.h"
#include "writeback/writeback.h"

/* ---- looking ------------------------------------------------------------ */

static void note_if_busy(struct fm_map *m, uint64_t i, void *arg)
{
	if (atomic_load(fm_file_page(m->file, m->pgoff + i)) &
	    (FP_BUSY | FP_WB))
		*(bool *)arg = true;
}

/* A fault has touched the group of a page before it asks for its lock. */
static bool is_busy(struct fm_map *m, uint64_t first, uint64_t stop)
{
	uint64_t lo = first > m->pgoff ? first - m->pgoff : 0;
	uint64_t hi = stop > m->pgoff ? stop - m->pgoff : 0;
	bool busy = false;

	hi = fm_least(hi, fm_map_pages(m));
	if (lo < hi)
		fm_map_each(m, lo, hi, note_if_busy, &busy);
	return busy;
}

static bool is_in_flight(struct fm_file *f, uint64_t first, uint64_t stop,
			 bool ahead)
{
	bool busy = ahead && !fm_chunk_forget_landed(f, first, stop);
	struct fm_map *m;

	fm_for_each_map(m, f)
		busy = busy || is_busy(m, first, stop);
	return busy;
}

bool fm_file_lands(struct fm_file *f, uint64_t first, uint64_t stop, bool ahead,
		   uint64_t ms)
{
	const struct fm_wait w = fm_wait_for(ms);

	while (is_in_flight(f, first, stop, ahead))
		if (!fm_wait_on(&w))
			return false;
	return true;
}

/* ---- waiting ------------------------------------------------------------ */

struct drain_range {
	struct fm_file *f;
	uint64_t first, stop;
	enum fm_drain how;
	bool dirty;
	uintptr_t from, to, next; /* addresses; where this part ends */
};

static void drain_elsewhere(const struct drain_range *r)
{
	unsigned e;

	fm_space_yield();
	e = fm_epoch_enter();
	fm_file_lands(r->f, r->first, r->stop, r->how == FM_DRAIN_REMOVES,
		      fm_tune.moment_ms);
	fm_epoch_leave(e);
	fm_space_resume();
}

/* The file is held, or there would always be one more. */
static void drain_held(const struct drain_range *r)
{
	const bool ahead = r->how == FM_DRAIN_REMOVES;

	if (!fm_space_may_yield() ||
	    fm_file_lands(r->f, r->first, r->stop, ahead,
			  fm_tune.budget_soon_ms))
		return;
	fm_file_get(r->f);
	fm_file_hold(r->f);
	do
		drain_elsewhere(r);
	while (!fm_file_lands(r->f, r->first, r->stop, ahead, 0));
	fm_file_release(r->f);
	fm_file_put_locked(r->f);
}

void fm_file_drain(struct fm_file *f, uint64_t first, uint64_t stop)
{
	const struct drain_range r = { .f = f, .first = first, .stop = stop,
				       .how = FM_DRAIN_REMOVES };

	drain_held(&r);
}

/* An error is found again by who writes under the lock, and what is stored
 * meanwhile. */
static void drain_dirty(const struct drain_range *r)
{
	if (!fm_space_may_yield() || fm_wb_refused(r->f))
		return;
	fm_file_get(r->f);
	fm_space_yield();
	fm_wb_range(r->f, r->first, r->stop, true);
	fm_space_resume();
	fm_file_put_locked(r->f);
}

/* ---- ranges of addresses ------------------------------------------------ */

/* The part of m that lies in a range: does it need a wait? */
static int find_in_flight(struct fm_map *m, void *arg)
{
	struct drain_range *r = arg;
	const bool removes = r->how == FM_DRAIN_REMOVES;

	const uintptr_t a = atomic_load(&m->start);
	const uintptr_t lo = r->from > a ? r->from : a;
	const uintptr_t hi = fm_least(r->to, atomic_load(&m->end));

	r->f = m->file;
	r->first = m->pgoff + ((lo - a) >> FM_PAGE_SHIFT);
	r->stop = m->pgoff + ((hi - a) >> FM_PAGE_SHIFT);
	r->next = hi;
	r->dirty = removes && m->shared &&
		   fm_dirty_next(m->file, r->first, r->stop) < r->stop;
	return r->dirty || is_in_flight(m->file, r->first, r->stop, removes);
}

void fm_range_drain(uintptr_t start, uintptr_t end, enum fm_drain how)
{
	struct drain_range r = { .how = how, .from = start, .to = end };

	while (r.from < end &&
	       fm_range_maps(r.from, end, find_in_flight, &r)) {
		if (r.dirty)
			drain_dirty(&r);
		drain_held(&r);
		r.from = r.next;
	}
}
