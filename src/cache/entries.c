/* SPDX-License-Identifier: MIT */
#include "entries.h"

#include "evict_policy.h"
#include "ghost.h"
#include "lazyfree.h"
#include "map/map.h"
#include "policy.h"
#include "shares.h"

#define RUN_SHIFT 6 /* bits: pages that came together leave together */
#define FEW_ENTRIES 2048 /* size: of a queue, in 16 KiB */

static unsigned nshards = 1;

unsigned fm_entry_shards(void)
{
	return nshards;
}

void fm_entry_start(void)
{
	/* A tiny cache in many shards would be all rounding. */
	nshards = fm_cache_limit() >= 4096 ? FM_EVICT_SHARDS : 1;
}

static FM_FAULT uint64_t pack(const struct fm_map *m, uint64_t i,
			      enum fm_entry kind)
{
	return (uint64_t)m->id << 44 | (uint64_t)atomic_load(&m->gen) << 36 |
	       (kind == FM_ENTRY_UNIT ? FM_EVICT_UNIT : 0) |
	       (kind == FM_ENTRY_PART ? FM_EVICT_PART : 0) | i;
}

FM_FAULT struct fm_map *fm_entry_map(uint64_t e, uint64_t *ret_i)
{
	struct fm_map *m = fm_map_by_id((uint32_t)(e >> 44),
					(uint32_t)(e >> 36) & FM_GEN_MASK);

	*ret_i = e & (FM_EVICT_PART - 1);
	return m ? fm_map_follow(m, ret_i) : NULL;
}

FM_FAULT void fm_entry_forget(struct fm_map *m, uint64_t i)
{
	fm_mode_set(m, i, fm_mode(m, i) & (uint8_t)~(PM_QUEUED | PM_MAIN));
}

/* The mapping of e has gone, or its page has been dropped. */
static FM_FAULT bool is_stale(uint64_t e)
{
	uint64_t i;
	struct fm_map *m = fm_entry_map(e, &i);
	_Atomic uint8_t *p;
	bool gone;

	if (!m)
		return true;
	if ((e & (FM_EVICT_UNIT | FM_EVICT_PART)) ||
	    fm_mode_resident(fm_mode(m, i)))
		return false;
	p = fm_file_page(m->file, m->pgoff + i);
	if (!p || !fm_page_trylock(p))
		return false;
	gone = fm_map_current(m, i) && !fm_mode_resident(fm_mode(m, i));
	if (gone)
		fm_entry_forget(m, i);
	fm_page_unlock(p);
	return gone;
}

/* A program that maps and unmaps over and over, and never fills the cache,
 * evicts nothing. The entries of pages that have gone leave here, two for each
 * that comes. */
static FM_FAULT void tidy(struct fm_evict_list *l)
{
	uint64_t e;

	if (fm_queue_len(&l->q) <
	    2 * (fm_cache_limit() / nshards) + FEW_ENTRIES)
		return;
	for (int k = 0; k < 2 && fm_evict_pop(l, &e); k++)
		if (!is_stale(e))
			fm_evict_return(l, e);
}

FM_FAULT const struct fm_evict_policy *fm_entry_policy(const struct fm_map *m)
{
	return fm_evict_policies[m->file->policy->eviction];
}

static FM_FAULT unsigned shard_of(const struct fm_map *m, uint64_t i,
				  enum fm_entry kind)
{
	uint64_t fp = m->pgoff + i;
	unsigned shift = kind == FM_ENTRY_UNIT ? 9 : RUN_SHIFT;

	uint64_t run = fp >> shift;

	/* Even, for strides as well. */
	run += run / 8 + run / 64 + run / 512 + m->file->id;
	return (unsigned)(run % nshards);
}

FM_FAULT struct fm_evict_list *
fm_entry_list(const struct fm_map *m, uint64_t i, bool mark, enum fm_entry kind)
{
	return fm_evict_list(shard_of(m, i, kind),
			     fm_shares_pool(m->file, m->pgoff + i),
			     m->file->policy->eviction, mark);
}

FM_FAULT void fm_cache_enqueue(struct fm_map *m, uint64_t i, bool hot,
			       enum fm_entry kind)
{
	if (!atomic_load_explicit(&m->listed, memory_order_relaxed))
		atomic_store(&m->listed, true);
	fm_evict_push(fm_entry_list(m, i, hot, kind), pack(m, i, kind));
}

/* Does this entry alone stand for a lazy page? Whoever holds the page's lock
 * may be about to change that. */
static FM_FAULT bool stands(uint64_t e, uint8_t mark)
{
	uint64_t i;
	struct fm_map *m = fm_entry_map(e, &i);
	_Atomic uint8_t *p = m ? fm_file_page(m->file, m->pgoff + i) : NULL;
	uint8_t mode;
	bool ok;

	if (!m)
		return false;
	if (!fm_page_trylock(p))
		return fm_mode_lazy(fm_mode(m, i));
	mode = fm_mode(m, i);
	ok = fm_map_current(m, i) && fm_mode_lazy(mode) && !(mode & mark);
	if (ok)
		fm_mode_set(m, i, (mode & (uint8_t)~FM_LAZYFREE_MARKS) | mark);
	fm_page_unlock(p);
	return ok;
}

/* Look at so many entries for each that comes. Of V lazy pages, each of which
 * is loaded and lazy anew while V entries come, a sweep of L leaves at most
 * V + 2 L / LOOKS, and the next begins at twice that: with four the queue
 * would grow on, with eight it has 4 V at most. */
#define LOOKS 8 /* size: entries */

static FM_FAULT void sweep_lazy(unsigned shard)
{
	uint8_t mark;
	uint64_t e;

	for (int k = 0; k < LOOKS && fm_lazyfree_sweep(shard, &e, &mark); k++)
		if (stands(e, mark))
			fm_lazyfree_push(shard, e);
		else
			fm_lazyfree_stale();
}

FM_FAULT void fm_cache_requeue(struct fm_map *m, uint64_t i)
{
	uint8_t mode = fm_mode(m, i);
	unsigned s = shard_of(m, i, FM_ENTRY_PAGE);

	if (!fm_mode_lazy(mode)) {
		fm_cache_enqueue(m, i, mode & PM_MAIN, FM_ENTRY_PART);
		return;
	}
	fm_mode_set(m, i, mode & (uint8_t)~FM_LAZYFREE_MARKS);
	fm_lazyfree_push(s, pack(m, i, FM_ENTRY_PAGE));
	sweep_lazy(s);
}

FM_FAULT void fm_cache_insert(struct fm_map *m, uint64_t i)
{
	const struct fm_evict_policy *p = fm_entry_policy(m);
	uint8_t mode = fm_mode(m, i);
	bool mark, again;

	fm_shares_come(m->file, m->pgoff + i, 1);
	if (mode & PM_QUEUED)
		return;
	if (i >= fm_map_pages(m)) { /* cut off while the page was loading */
		struct fm_map *n = fm_space_find((uintptr_t)fm_map_addr(m, i));

		if (!n || n->modes != m->modes)
			return;
		i += m->mbase - n->mbase;
		m = n;
	}
	again = fm_ghost_back(m->file, m->pgoff + i);
	mark = p->enter && p->enter(again);
	fm_mode_set(m, i, mode | PM_QUEUED | (mark ? PM_MAIN : 0));
	fm_cache_enqueue(m, i, mark, FM_ENTRY_PAGE);
	tidy(fm_entry_list(m, i, mark, FM_ENTRY_PAGE));
}

FM_FAULT enum fm_entry fm_entry_kind(uint64_t e)
{
	return e & FM_EVICT_UNIT ? FM_ENTRY_UNIT :
	       e & FM_EVICT_PART ? FM_ENTRY_PART : FM_ENTRY_PAGE;
}

static void add_part(struct fm_map *m, uint64_t i, bool hot)
{
	fm_cache_enqueue(m, i, hot, FM_ENTRY_PART);
}

FM_UP(page_renamed, add_part)
FM_UP(lazy_renamed, fm_cache_requeue)
