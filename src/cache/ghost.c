/* SPDX-License-Identifier: MIT */
#include "ghost.h"

#include "evict_queues.h"
#include "file/file.h"
#include "fingerprints.h"
#include "map/map.h"
#include "shares.h"
#include "streaming.h"

#define IS_UNIT (1ull << 40) /* bits: no page has this number */

static struct fm_fingerprints ghosts;
static _Atomic uint64_t evicted, came_back, away;
static _Atomic uint64_t left; /* pages, those of units as well */

uint64_t fm_ghost_evicted(void)
{
	return atomic_load_explicit(&evicted, memory_order_relaxed);
}

uint64_t fm_ghost_came_back(void)
{
	return atomic_load_explicit(&came_back, memory_order_relaxed);
}

uint64_t fm_ghost_away(void)
{
	return atomic_load_explicit(&away, memory_order_relaxed);
}

uint64_t fm_ghost_left(void)
{
	return atomic_load_explicit(&left, memory_order_relaxed);
}

int fm_ghost_start(uint64_t pages)
{
	return fm_fingerprints_start(&ghosts, pages);
}

FM_FAULT uint64_t fm_ghost_hash(const struct fm_file *f, uint64_t n)
{
	return (n * 0x9e3779b97f4a7c15ull) ^
	       ((uint64_t)(f->id + 1) * 0xc2b2ae3d27d4eb4full);
}

/* For units, and what streams: all evictions count. */
static FM_FAULT uint32_t unit_now(void)
{
	return fm_fingerprints_time(fm_ghost_left());
}

/* For other pages units do not count: a stream would make all ghosts pass of
 * those that it drives out. */
static FM_FAULT uint32_t now_of(const struct fm_file *f)
{
	return fm_shares_open(f) == FM_POOL_STREAMED ?
		       unit_now() : fm_fingerprints_time(fm_ghost_evicted());
}

FM_FAULT void fm_ghost_add(const struct fm_map *m, uint64_t i)
{
	fm_fingerprints_add(&ghosts, fm_ghost_hash(m->file, m->pgoff + i),
			    now_of(m->file));
	fm_count(&m->file->st->evictions, 1);
}

FM_FAULT void fm_ghost_pass(uint64_t pages)
{
	fm_count(&evicted, pages);
	fm_count(&left, pages);
	FM_UP_EACH(ghost_passed, tell)
		tell(pages);
}

static FM_FAULT int age_of(uint64_t h, uint32_t at)
{
	if (!fm_ghost_left()) /* the look-up would touch a page */
		return -1;
	return fm_fingerprints_age(&ghosts, h, at);
}

/* Half the cache would have held it. */
static FM_FAULT bool is_soon(int age)
{
	return age <= FM_CACHE_PARTS / 2;
}

FM_FAULT bool fm_ghost_has(const struct fm_file *f, uint64_t fp)
{
	return age_of(fm_ghost_hash(f, fp), now_of(f)) >= 0;
}

FM_FAULT bool fm_ghost_back(struct fm_file *f, uint64_t fp)
{
	const int age = age_of(fm_ghost_hash(f, fp), now_of(f));
	const uint64_t part = fm_fingerprints_part();

	if (age < 0)
		return false;
	fm_count(&came_back, 1);
	fm_streaming_back(f, 1, is_soon(age));
	fm_count(&away, (uint64_t)age * part + part / 2);
	return true;
}

/* ---- units ------------------------------------------------------------- */

FM_FAULT void fm_ghost_came_unit(struct fm_file *f, uint64_t fp)
{
	const int age = age_of(fm_ghost_hash(f, fp | IS_UNIT), unit_now());

	if (age >= 0)
		fm_streaming_back(f, FM_HUGE_PAGES, is_soon(age));
}

FM_FAULT void fm_ghost_left_unit(const struct fm_file *f, uint64_t fp)
{
	fm_count(&left, FM_HUGE_PAGES);
	fm_fingerprints_add(&ghosts, fm_ghost_hash(f, fp | IS_UNIT),
			    unit_now());
}
