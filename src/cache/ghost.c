/* SPDX-License-Identifier: MIT */
#include "ghost.h"

#include <errno.h>

#include "base/sys.h"
#include "cache.h"
#include "evict_queues.h"
#include "shares.h"
#include "streaming.h"
#include "tunables.h"

#define PARTS 64 /* unit: of the cache, in which time is counted */
#define IS_UNIT (1ull << 40) /* bits: no page has this number */

/* Fingerprint and time, one word a slot. */
static _Atomic uint32_t *ghost;
static uint64_t mask;
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
	uint64_t slots = 1024;

	if (ghost)
		return 0;
	while (slots < pages)
		slots *= 2;
	ghost = fm_sys_anon(slots * sizeof(*ghost));
	if (!ghost)
		return -ENOMEM;
	mask = slots - 1;
	return 0;
}

FM_FAULT uint64_t fm_ghost_hash(const struct fm_file *f, uint64_t n)
{
	return (n * 0x9e3779b97f4a7c15ull) ^
	       ((uint64_t)(f->id + 1) * 0xc2b2ae3d27d4eb4full);
}

static FM_FAULT _Atomic uint32_t *ghost_slot_of(uint64_t h)
{
	return &ghost[(h >> 20) & mask];
}

/* Time in parts of the cache, so that 16 bits last a while. */
static FM_FAULT uint64_t unit(void)
{
	return fm_cache_limit() / PARTS + 1;
}

static FM_FAULT uint32_t time_of(uint64_t pages)
{
	return (uint32_t)(pages / unit()) & 0xffff;
}

/* For units, and what streams: all evictions count. */
static FM_FAULT uint32_t unit_now(void)
{
	return time_of(atomic_load_explicit(&left, memory_order_relaxed));
}

/* For other pages units do not count: a stream would make all ghosts pass of
 * those that it drives out. */
static FM_FAULT uint32_t now_of(const struct fm_file *f)
{
	return fm_shares_open(f) == FM_POOL_STREAMED ?
		       unit_now() : time_of(fm_ghost_evicted());
}

static FM_FAULT void ghost_remember(uint64_t h, uint32_t at)
{
	atomic_store_explicit(ghost_slot_of(h), (uint32_t)(h >> 48) << 16 | at,
			      memory_order_relaxed);
}

FM_FAULT void fm_ghost_add(const struct fm_map *m, uint64_t i)
{
	ghost_remember(fm_ghost_hash(m->file, m->pgoff + i), now_of(m->file));
	fm_count(&m->file->st->evictions, 1);
}

FM_FAULT void fm_ghost_pass(uint64_t pages)
{
	fm_count(&evicted, pages);
	fm_count(&left, pages);
	FM_UP_EACH(ghost_passed, tell)
		tell(pages);
}

/* Parts of the cache that were evicted since what has hash h was, if it is
 * remembered: one cache of evictions, as S3-FIFO's ghosts are. Else -1. */
static FM_FAULT int age_of(uint64_t h, uint32_t at)
{
	uint32_t g, age;
	bool known;

	if (!fm_ghost_left()) /* the look-up would touch a page */
		return -1;
	g = atomic_load_explicit(ghost_slot_of(h), memory_order_relaxed);
	age = (at - (g & 0xffff)) & 0xffff;
	known = g && g >> 16 == (uint32_t)(h >> 48);
	return known && age <= PARTS ? (int)age : -1;
}

/* Half the cache would have held it. */
static FM_FAULT bool is_soon(int age)
{
	return age <= PARTS / 2;
}

FM_FAULT bool fm_ghost_has(const struct fm_file *f, uint64_t fp)
{
	return age_of(fm_ghost_hash(f, fp), now_of(f)) >= 0;
}

FM_FAULT bool fm_ghost_back(struct fm_file *f, uint64_t fp)
{
	int age = age_of(fm_ghost_hash(f, fp), now_of(f));

	if (age < 0)
		return false;
	fm_count(&came_back, 1);
	fm_streaming_back(f, 1, is_soon(age));
	fm_count(&away, (uint64_t)age * unit() + unit() / 2);
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
	ghost_remember(fm_ghost_hash(f, fp | IS_UNIT), unit_now());
}
