/* SPDX-License-Identifier: MIT */
/*
 * standby.c - time is counted in pages evicted. A unit stays for an eighth of
 * the cache's worth of evictions, in the order of arrival (the inactive end of
 * a second-chance FIFO; compare the standby list of VMS and NT).
 */
#include "standby.h"

#include "base/life.h"
#include "base/lock.h"
#include "base/shrinker.h"
#include "cache.h"
#include "chunk_table.h"
#include "evict_policy.h"
#include "file/file.h"
#include "frame.h"
#include "ghost.h"
#include "map/map.h"
#include "policy.h"

static _Atomic uint64_t now; /* pages evicted so far */
static _Atomic uint64_t due; /* nobody's time is up before this */

static FM_FAULT uint64_t time_allowed(void)
{
	uint64_t eighth = fm_cache_limit() / 8;
	uint64_t slots = (FM_STANDBY - 16) * FM_HUGE_PAGES;

	return eighth < slots ? eighth : slots;
}

/* So many pages left the cache. */
static FM_FAULT void standby_age(uint64_t pages)
{
	fm_count(&now, pages);
}

FM_UP(ghost_passed, standby_age)

static FM_FAULT bool keeps_units(struct fm_map *m)
{
	return fm_evict_policies[m->file->policy->eviction]->standby &&
	       fm_cache_limit() >= 16 * FM_HUGE_PAGES;
}

/* The chunk is in the table: who forgets this range from now on waits for it.
 * Whoever did before has frozen the file or hidden the mapping. */
static FM_FAULT bool may_stay(struct fm_map *m, uint64_t i)
{
	return !atomic_load(&m->file->demote->frozen) &&
	       !atomic_load(&m->aliased) && !fm_kernel_serves(m->file) &&
	       fm_map_current(m, i);
}

static FM_FAULT void standby_fill(struct fm_map *m, uint64_t i,
				  struct fm_chunk *c)
{
	c->frame->standby = true;
	c->got = (long)c->n;
	c->eager = false;
	c->charged = c->n;
	c->stamp = atomic_load(&now);
	for (uint64_t k = i; k < i + c->n; k++)
		fm_page_set(fm_file_page(m->file, m->pgoff + k), FP_AHEAD, 0);
}

FM_FAULT bool fm_standby_put(struct fm_map *m, uint64_t i)
{
	struct fm_chunk *c;

	if (!keeps_units(m))
		return false;
	c = fm_chunk_get_standby(m->file, m->pgoff + i);
	if (!c)
		return false;
	if (!may_stay(m, i) || !fm_frame_fill(c->frame, m, i)) {
		fm_chunk_release(c);
		return false;
	}
	standby_fill(m, i, c);
	standby_age(c->n);
	fm_chunk_set_state(c, CH_READY);
	return true;
}

/* ---- giving up --------------------------------------------------------- */

static FM_FAULT struct fm_chunk *oldest_locked(void)
{
	struct fm_chunk *old = NULL;

	for (int k = 0; k < fm_chunk_top(); k++) {
		struct fm_chunk *c = &fm_chunks[k];

		if (atomic_load(&c->state) == CH_READY && c->charged &&
		    (!old || c->stamp < old->stamp))
			old = c;
	}
	return old;
}

/* The oldest, ours from now on, if its time is up. */
static FM_FAULT struct fm_chunk *claim_expired(void)
{
	uint64_t allowed = time_allowed(), t = atomic_load(&now), then;
	struct fm_chunk *c;

	fm_lock(&fm_chunk_lock);
	c = oldest_locked();
	then = (c ? c->stamp : t) + allowed;
	if (c && then <= t) {
		atomic_store(&c->state, CH_TAKING);
	} else {
		atomic_store(&due, then);
		c = NULL;
	}
	fm_unlock(&fm_chunk_lock);
	return c;
}

/* The caller may hold page locks: a flag whose page is locked stays, and who
 * meets it finds no chunk. */
static FM_FAULT void drop_flags(struct fm_chunk *c)
{
	for (uint64_t fp = c->first; fp < c->first + c->n; fp++) {
		_Atomic uint8_t *p = fm_file_page(c->file, fp);

		if (!fm_page_trylock(p))
			continue;
		fm_page_set(p, 0, FP_AHEAD);
		fm_page_unlock(p);
	}
}

FM_FAULT uint64_t fm_standby_trim(void)
{
	struct fm_chunk *c;
	uint64_t n;

	if (atomic_load(&now) < atomic_load(&due))
		return 0;
	c = claim_expired();
	if (!c)
		return 0;
	n = c->charged;
	drop_flags(c);
	fm_ghost_left_unit(c->file, c->first);
	fm_chunk_release(c);
	return n;
}

static FM_FAULT uint64_t standby_trim(uint64_t want)
{
	return fm_standby_trim();
}

FM_SHRINKER(standby, .order = FM_SHRINK_NEXT, .trim = standby_trim)

static void standby_reset(void)
{
	atomic_store(&now, 0);
	atomic_store(&due, 0);
}

FM_LIFE(standby, .level = FM_LIFE_MEMORY, .reset = standby_reset)
