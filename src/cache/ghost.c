/* SPDX-License-Identifier: MIT */
#include "ghost.h"

#include <errno.h>

#include "base/sys.h"
#include "cache.h"
#include "reuse.h"
#include "standby.h"

/* Fingerprint and time, one word a slot. */
static _Atomic uint32_t *ghost;
static uint64_t mask;
static _Atomic uint64_t evicted, came_back, away;

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
	fm_reuse_start(pages);
	return 0;
}

FM_FAULT uint64_t fm_ghost_hash(const struct fm_file *f, uint64_t n)
{
	return (n * 0x9e3779b97f4a7c15ull) ^
	       ((uint64_t)(f->id + 1) * 0xc2b2ae3d27d4eb4full);
}

static FM_FAULT _Atomic uint32_t *slot_of(uint64_t h)
{
	return &ghost[(h >> 20) & mask];
}

/* Time in units of 1/64 of the cache, so that 16 bits last a while. */
static FM_FAULT uint64_t unit(void)
{
	return (fm_cache_limit() >> 6) + 1;
}

static FM_FAULT uint32_t now(void)
{
	return (uint32_t)(fm_ghost_evicted() / unit()) & 0xffff;
}

FM_FAULT void fm_ghost_add(const struct fm_map *m, uint64_t i)
{
	uint64_t h = fm_ghost_hash(m->file, m->pgoff + i);

	atomic_store_explicit(slot_of(h), (uint32_t)(h >> 48) << 16 | now(),
			      memory_order_relaxed);
	fm_count(&m->file->st.evictions, 1);
	fm_reuse_left(h);
}

FM_FAULT void fm_ghost_pass(uint64_t pages)
{
	fm_count(&evicted, pages);
	fm_standby_age(pages);
}

FM_FAULT void fm_ghost_came(const struct fm_file *f, uint64_t fp, uint64_t n)
{
	for (uint64_t k = fp; k < fp + n; k++)
		fm_reuse_came(f->id, fm_ghost_hash(f, k));
}

FM_FAULT void fm_ghost_left(const struct fm_file *f, uint64_t fp, uint64_t n)
{
	for (uint64_t k = fp; k < fp + n; k++)
		fm_reuse_left(fm_ghost_hash(f, k));
}

/* Units since what has hash h was evicted, if it is remembered: less than one
 * cache size of evictions ago. Else -1. */
static FM_FAULT int age_of(uint64_t h)
{
	uint32_t g = atomic_load_explicit(slot_of(h), memory_order_relaxed);
	uint32_t age = (now() - (g & 0xffff)) & 0xffff;

	return g && g >> 16 == (uint32_t)(h >> 48) && age <= 64 ? (int)age : -1;
}

FM_FAULT bool fm_ghost_has(const struct fm_file *f, uint64_t fp)
{
	return age_of(fm_ghost_hash(f, fp)) >= 0;
}

FM_FAULT bool fm_ghost_back(const struct fm_file *f, uint64_t fp)
{
	uint64_t h = fm_ghost_hash(f, fp);
	int age = age_of(h);

	fm_reuse_came(f->id, h);
	if (age < 0)
		return false;
	fm_count(&came_back, 1);
	fm_count(&away, (uint64_t)age * unit() + unit() / 2);
	return true;
}
