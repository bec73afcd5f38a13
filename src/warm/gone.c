/* SPDX-License-Identifier: MIT */
/*
 * gone.c - what is hot of a mapping when the program unmaps it.
 *
 * A look takes some time for each page of the mapping, and some for its file: a
 * program that maps and unmaps windows all the time pays a fiftieth of its time
 * at most, and not all that it unmaps is seen then.
 */
#include "base/epoch.h"
#include "base/lock.h"
#include "base/sys.h"
#include "engine.h"
#include "gather.h"
#include "map/map.h"
#include "ranges.h"
#include "tunables.h"

/* ---- no more than a part of the time ------------------------------------- */

static _Atomic int64_t debt;    /* ns, at last_ns */
static _Atomic uint64_t last_ns;

static bool gone_may_look(uint64_t now)
{
	const uint64_t since = now - atomic_exchange(&last_ns, now);
	int64_t left =
		atomic_load(&debt) - (int64_t)(since / fm_tune.warm_gone_part);

	left = left > 0 ? left : 0;
	atomic_store(&debt, left);
	return left < (int64_t)fm_tune.resident_turn_ms * 1000000;
}

static void has_taken(uint64_t from)
{
	atomic_fetch_add(&debt, (int64_t)(fm_now_ns() - from));
}

/* ---- what is noted ------------------------------------------------------- */

static void keep_gone(struct fm_warm_record *r, struct fm_warm_pages *p)
{
	struct fm_warm_pages old = { .n = 0 };
	uint64_t mask;

	fm_block_signals(&mask);
	fm_lock(&fm_warm_lock);
	if (r->gone.n <= p->n) {
		old = r->gone;
		fm_warm_merge(p, &old, 0);
		r->gone = *p;
	} else {
		fm_warm_merge(&r->gone, p, 0);
		old = *p;
	}
	fm_unlock(&fm_warm_lock);
	fm_restore_signals(&mask);
	fm_warm_pages_free(&old);
}

static bool any_hot(const struct fm_warm_pages *p)
{
	return fm_warm_next(p, 0, FM_HOT_PAST) < p->n;
}

static void note_gone(struct fm_warm_record *r, const struct fm_warm_where *w)
{
	struct fm_warm_pages p;
	struct fm_warm_head h;
	dev_t dev;

	if (fm_warm_identify(r->path, &dev, &h) ||
	    fm_warm_pages_make(&p, fm_page_up(h.size) >> FM_PAGE_SHIFT))
		return;
	fm_warm_gather(r, w, &p);
	if (any_hot(&p))
		keep_gone(r, &p);
	else
		fm_warm_pages_free(&p);
}

/* ---- whose it is --------------------------------------------------------- */

static void note_file(dev_t dev, ino_t ino, const struct fm_warm_where *w)
{
	struct fm_warm_record *r = fm_warm_record_find(dev, ino);

	if (r)
		note_gone(r, w);
}

/* The first mapping of the engine's in [at, end): what follows it, or `end`. */
static uintptr_t next_of_engine(uintptr_t at, uintptr_t end,
				struct fm_file_id *ret)
{
	const unsigned e = fm_epoch_enter();
	struct fm_map *m = fm_space_next(at, end, &at);

	*ret = (struct fm_file_id){ .ino = 0 };
	if (m) {
		*ret = (struct fm_file_id){ m->file->dev, m->file->ino };
		end = fm_least(end, atomic_load(&m->end));
	}
	fm_epoch_leave(e);
	return end > at ? end : at + FM_PAGE;
}

/* Each part is one mapping's. */
static void gone_of_engine(uintptr_t start, uintptr_t end)
{
	struct fm_file_id id;

	for (uintptr_t at = start, next; at < end; at = next) {
		next = next_of_engine(at, end, &id);
		if (id.ino)
			note_file(id.dev, id.ino, &(struct fm_warm_where){
					  at, next, false });
	}
}

static void gone_of_kernel(uintptr_t start, uintptr_t end)
{
	struct fm_krange r;

	for (; fm_krange_first(start, end, &r); start = r.end)
		note_file(r.dev, r.ino, &(struct fm_warm_where){
				  r.start > start ? r.start : start,
				  fm_least(r.end, end), false });
}

void fm_warm_unmaps(const void *addr, size_t len)
{
	const uintptr_t start = (uintptr_t)addr, end = start + len;
	const bool ours = fm_overlaps(addr, len);
	uint64_t now;

	if (len < fm_tune.unmap_cache_least || end < start ||
	    !fm_warm_record_at(0) ||
	    (!ours && !fm_krange_in(addr, len)) || !fm_warm_is_there() ||
	    !fm_sys_may_ask())
		return;
	now = fm_now_ns();
	if (!gone_may_look(now))
		return;
	if (ours)
		gone_of_engine(start, end);
	gone_of_kernel(start, end);
	has_taken(now);
}
