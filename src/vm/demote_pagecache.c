/* SPDX-License-Identifier: MIT */
#include "demote_pagecache.h"

#include "base/life.h"
#include "base/lock.h"
#include "base/sys.h"
#include "engine.h"
#include "file/file.h"
#include "map/map.h"
#include "readahead/readahead.h"
#include "tunables.h"
#include "writeback/writeback.h"

/* ---- what is resident ---------------------------------------------------- */

static void demote_pagecache_note(struct fm_map *m, uint64_t i, void *arg)
{
	const uintptr_t a = (uintptr_t)fm_map_addr(m, i);

	if (fm_mode_charged(fm_mode(m, i)))
		fm_fetch_add(arg, a, a + FM_PAGE);
}

void fm_resident_note(struct fm_file *f, struct fm_fetch *ret)
{
	struct fm_map *m;

	fm_fetch_begin(ret, -1, f->dev, true);
	fm_for_each_map(m, f)
		fm_map_each(m, 0, fm_map_pages(m), demote_pagecache_note, ret);
}

bool fm_resident_all(const struct fm_demote_request *g, uint64_t bytes,
		     uint64_t memory)
{
	const uint64_t all = g->bytes > bytes ? g->bytes : bytes;

	return (g->why == FM_WHY_FITS || g->why == FM_WHY_TRIED) &&
	       memory != UINT64_MAX && all <= memory;
}

void fm_resident_note_all(struct fm_file *f, struct fm_fetch *ret)
{
	struct fm_map *m;

	fm_fetch_begin(ret, -1, f->dev, true);
	ret->until_ms = fm_now_ms() + fm_tune.patience_ms;
	fm_for_each_map(m, f) {
		const uintptr_t a = atomic_load(&m->start);
		const uint64_t n = fm_pages_within(a, atomic_load(&m->end),
				m->pgoff, (uint64_t)fm_file_size(f));

		if (n)
			fm_fetch_add(ret, a, a + (n << FM_PAGE_SHIFT));
	}
}

/* ---- what is dirty ----------------------------------------------------- */

#define SLICE ((uint64_t)4096) /* size: pages of the file */

static void demote_pagecache_drop_clean(struct fm_map *m, uint64_t i, void *arg)
{
	fm_zap_clean(arg, m, i);
}

static void demote_pagecache_drop(struct fm_file *f, uint64_t first,
				  uint64_t stop)
{
	struct fm_map *m;
	struct fm_zap_batch d = { .n = 0 };

	fm_for_each_map(m, f) {
		uint64_t lo = first > m->pgoff ? first - m->pgoff : 0;
		uint64_t hi = stop > m->pgoff ? stop - m->pgoff : 0;

		fm_map_each(m, lo, fm_least(hi, fm_map_pages(m)),
			    demote_pagecache_drop_clean, &d);
		fm_zap_now(&d);
	}
}

/* Errors are found, and said, by who writes what is dirty still. */
void fm_demote_write_pagecache(struct fm_file *f)
{
	bool much = fm_dirty_count(f) > (int64_t)SLICE;
	uint64_t fp = 0;

	/* Direct writes and the page cache do not mix; see fm_file_mixed. What
	 * it writes is all there is. */
	atomic_store(&f->wb->buffered, true);
	while (much && (fp = fm_dirty_next(f, fp, FM_MAX_FILE_PAGES)) <
			       FM_MAX_FILE_PAGES) {
		uint64_t stop = fm_least(fp + SLICE, FM_MAX_FILE_PAGES);

		if (fm_wb_range(f, fp, stop, true))
			break;
		demote_pagecache_drop(f, fp, stop);
		fp = stop;
	}
	fm_file_mixed(f);
}

/* ---- before a fork ----------------------------------------------------- */

/*
 * Direct writes of other pages may be in flight. A folio that has those pages,
 * too, could only have been read, which is heard of (fm_file_mixed): what is
 * written here has folios of its own.
 */
static int flush_through(struct fm_file *f)
{
	if (fm_dirty_count(f) >
	    (int64_t)(fm_cache_limit() / fm_tune.budget_reserve))
		return 0;
	atomic_fetch_add(&f->demote->through, 1);
	fm_wb_file(f);
	atomic_fetch_sub(&f->demote->through, 1);
	return 0;
}

void fm_engine_flush_for_fork(void)
{
	if (fm_active())
		fm_wb_each(flush_through);
	fm_engine_flush_for_others();
}

/* ---- into the page cache ----------------------------------------------- */

static struct fm_lock lock = FM_LOCK(FM_RANK_OF_TABLES);
static struct fm_fetch *later; /* under the lock */
static struct fm_fetch *now;   /* the write-back thread's */

void fm_resident_bring(struct fm_fetch *h)
{
	if (!fm_fetch_list(h, fm_tune.resident_turn_ms)) {
		fm_fetch_forget(h);
		return;
	}
	fm_lock(&lock);
	fm_fetch_later(&later, h);
	fm_unlock(&lock);
	fm_wb_kick();
}

static struct fm_fetch *take_later(void)
{
	struct fm_fetch *h;

	fm_lock(&lock);
	h = later;
	later = NULL;
	fm_unlock(&lock);
	return h;
}

static void serve_later(void)
{
	if (!now)
		now = take_later();
	if (!now)
		return;
	fm_fetch_turn(&now, fm_tune.resident_turn_ms);
	fm_wb_kick(); /* for the rest, or what has come meanwhile */
}

static void demote_pagecache_forked(void)
{
	fm_lock_reset(&lock);
	later = now = NULL;
}

FM_UP(wb_idle, serve_later)
FM_LIFE(demote_pagecache, .level = FM_LIFE_HELPERS,
	.forked = demote_pagecache_forked)
