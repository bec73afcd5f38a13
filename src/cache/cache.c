/* SPDX-License-Identifier: MIT */
#include "cache.h"

#include "base/life.h"
#include "base/shrinker.h"
#include "evict_policy.h"
#include "evict_queues.h"
#include "evictor.h"
#include "file/file.h"
#include "frame.h"
#include "ghost.h"
#include "huge.h"
#include "lazyfree.h"
#include "map/map.h"
#include "policy.h"
#include "probe.h"
#include "shares.h"
#include "standby.h"
#include "tunables.h"
#include "writeback/writeback.h"

#define RUN_SHIFT 6 /* bits: pages that came together leave together */
#define BATCH 64
#define MOST_LOOKED 4096 /* size: entries of a pool, in one go */
#define FEW_ENTRIES 2048 /* size: of a queue, in 16 KiB */
#define HUGE_FLAG FM_EVICT_UNIT
#define PART_FLAG (1ull << 34) /* bits: FM_MAX_FILE_PAGES is 2^34 */

static unsigned nshards = 1;
static _Atomic uint32_t clock_hand; /* next shard to evict from */

static void cache_reset(void)
{
	fm_evict_reset();
	fm_cache_count_reset();
	fm_lazyfree_reset();
}

/* ---- queue entries ---------------------------------------------------- */

static FM_FAULT uint64_t pack(const struct fm_map *m, uint64_t i,
			      enum fm_entry kind)
{
	return (uint64_t)m->id << 44 | (uint64_t)atomic_load(&m->gen) << 36 |
	       (kind == FM_ENTRY_UNIT ? HUGE_FLAG : 0) |
	       (kind == FM_ENTRY_PART ? PART_FLAG : 0) | i;
}

static FM_FAULT struct fm_map *unpack(uint64_t e, uint64_t *ret_i)
{
	struct fm_map *m = fm_map_by_id((uint32_t)(e >> 44),
					(uint32_t)(e >> 36) & FM_GEN_MASK);

	*ret_i = e & (PART_FLAG - 1);
	return m ? fm_map_follow(m, ret_i) : NULL;
}

static FM_FAULT void forget_entry(struct fm_map *m, uint64_t i)
{
	fm_mode_set(m, i, fm_mode(m, i) & (uint8_t)~(PM_QUEUED | PM_MAIN));
}

/* The mapping of e has gone, or its page has been dropped. */
static FM_FAULT bool is_stale(uint64_t e)
{
	uint64_t i;
	struct fm_map *m = unpack(e, &i);
	_Atomic uint8_t *p;
	bool gone;

	if (!m)
		return true;
	if ((e & (HUGE_FLAG | PART_FLAG)) || fm_mode_resident(fm_mode(m, i)))
		return false;
	p = fm_file_page(m->file, m->pgoff + i);
	if (!p || !fm_page_trylock(p))
		return false;
	gone = fm_map_current(m, i) && !fm_mode_resident(fm_mode(m, i));
	if (gone)
		forget_entry(m, i);
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

static FM_FAULT const struct fm_evict_policy *
cache_policy_of(const struct fm_map *m)
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

static FM_FAULT struct fm_evict_list *
list_of(const struct fm_map *m, uint64_t i, bool mark, enum fm_entry kind)
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
	fm_evict_push(list_of(m, i, hot, kind), pack(m, i, kind));
}

/* Does this entry alone stand for a lazy page? Whoever holds the page's lock
 * may be about to change that. */
static FM_FAULT bool stands(uint64_t e, uint8_t mark)
{
	uint64_t i;
	struct fm_map *m = unpack(e, &i);
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

/* Look at four entries for each that comes. With two the queue would grow
 * on. */
static FM_FAULT void sweep_lazy(unsigned shard)
{
	uint8_t mark;
	uint64_t e;

	for (int k = 0; k < 4 && fm_lazyfree_sweep(shard, &e, &mark); k++)
		if (stands(e, mark))
			fm_lazyfree_push(shard, e);
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
	const struct fm_evict_policy *p = cache_policy_of(m);
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
	tidy(list_of(m, i, mark, FM_ENTRY_PAGE));
}

/* ---- eviction --------------------------------------------------------- */

struct batch {
	struct iovec iov[BATCH];
	struct fm_map *map[BATCH];
	uint64_t index[BATCH];
	uint64_t lazy;     /* a bit each: the kernel may take it */
	unsigned n;
	uint64_t pages;    /* off the budget, huge units included */
	unsigned dirty;    /* passed over because dirty */
	unsigned pool;     /* that is being asked */
	uint64_t most;     /* pages that it may give, and */
	uint64_t gave;     /* has given, into standby as well */
};

static FM_FAULT bool is_gone(const struct batch *b, unsigned k)
{
	return fm_file_torn(b->map[k]->file) &&
	       fm_page_gone(b->map[k], b->index[k]);
}

/* The vector of the lazy pages of b, or of the others. Neighbours become one
 * element. */
static FM_FAULT int cache_pick(const struct batch *b, bool lazy,
			       struct iovec *iov)
{
	int k = 0;

	for (unsigned i = 0; i < b->n; i++) {
		if ((b->lazy >> i & 1) != lazy || is_gone(b, i))
			continue;
		if (k && (char *)iov[k - 1].iov_base + iov[k - 1].iov_len ==
				 b->iov[i].iov_base)
			iov[k - 1].iov_len += FM_PAGE;
		else
			iov[k++] = b->iov[i];
	}
	return k;
}

/* Page k of the batch has left the mapping. How many it counted as: 0 or 1. */
static FM_FAULT uint64_t page_leaves(const struct batch *b, unsigned k)
{
	struct fm_map *m = b->map[k];
	uint64_t i = b->index[k];
	bool charged = fm_mode_charged(fm_mode(m, i));
	_Atomic uint8_t *p = fm_file_page(m->file, m->pgoff + i);

	if (b->lazy >> k & 1) {
		fm_mode_set(m, i, PM_PRESENT | PM_LAZY);
		fm_count(&m->file->st->lazy, 1);
		fm_cache_requeue(m, i);
	} else {
		fm_mode_set(m, i, 0);
		fm_ghost_add(m, i);
	}
	fm_page_set(p, 0, FP_CLEANED);
	fm_page_unlock(p);
	return charged;
}

/* Pages of the batch from *k on, of one file: how many counted as cached. */
static FM_FAULT uint64_t file_leaves(const struct batch *b, unsigned *k)
{
	struct fm_file *f = b->map[*k]->file;
	uint64_t n = 0;

	while (*k < b->n && b->map[*k]->file == f)
		n += page_leaves(b, (*k)++);
	fm_cache_uncharge(f, n);
	return n;
}

static FM_FAULT void batch_flush(struct batch *b)
{
	struct iovec iov[BATCH];
	int k = cache_pick(b, false, iov);

	if (k)
		fm_uffd_dropv(iov, k);
	k = cache_pick(b, true, iov);
	if (k)
		fm_uffd_freev(iov, k);
	for (unsigned i = 0; i < b->n;)
		b->pages += file_leaves(b, &i);
	fm_ghost_pass(b->n - (unsigned)__builtin_popcountll(b->lazy));
	b->n = 0;
	b->lazy = 0;
}

/* The arrays need not be zeroed. */
static FM_FAULT void batch_begin(struct batch *b)
{
	b->n = b->dirty = 0;
	b->lazy = b->pages = b->gave = 0;
	b->most = UINT64_MAX;
}

static FM_FAULT void batch_add(struct batch *b, struct fm_map *m, uint64_t i,
			       bool lazy)
{
	b->map[b->n] = m;
	b->index[b->n] = i;
	b->iov[b->n].iov_base = fm_map_addr(m, i);
	b->iov[b->n].iov_len = FM_PAGE;
	b->lazy |= (uint64_t)lazy << b->n++;
	b->gave++;
}

/* The page could leave, or is dirty: does its policy want it to stay? */
static FM_FAULT bool cache_stays(struct fm_map *m, uint64_t i, bool dirty)
{
	const struct fm_evict_policy *p = cache_policy_of(m);
	uint8_t mode = fm_mode(m, i);
	bool mark = mode & PM_MAIN, stay;

	if (!p->stays)
		return false;
	stay = p->stays(&mark, dirty);
	fm_mode_set(m, i, (mode & (uint8_t)~PM_MAIN) | (mark ? PM_MAIN : 0));
	return stay;
}

static FM_FAULT enum fm_entry cache_kind_of(uint64_t e)
{
	return e & HUGE_FLAG ? FM_ENTRY_UNIT :
	       e & PART_FLAG ? FM_ENTRY_PART : FM_ENTRY_PAGE;
}

/* Was the page queued in another pool than it belongs to now? Its entry goes
 * there: once, whenever its policy has changed or it was pinned. */
static FM_FAULT bool moves(struct fm_map *m, uint64_t i, unsigned pool,
			   uint64_t e)
{
	if (fm_shares_pool(m->file, m->pgoff + i) == pool)
		return false;
	fm_evict_push(list_of(m, i, fm_mode(m, i) & PM_MAIN, cache_kind_of(e)),
		      e);
	return true;
}

static FM_FAULT void consider_unit(struct batch *b, struct fm_evict_list *l,
				   struct fm_map *m, uint64_t i, uint64_t e)
{
	long n = fm_huge_evict(m, i, fm_shares_rests(b->pool));

	if (n == -EBUSY) {
		fm_evict_return(l, e);
		return;
	}
	b->gave += FM_HUGE_PAGES;
	b->pages += n ? (uint64_t)n : fm_standby_trim();
}

/* Put what entry e stands for into the batch, or e back into its queue. False:
 * it stood for nothing here. */
static FM_FAULT bool consider(struct batch *b, struct fm_evict_list *l,
			      uint64_t e)
{
	uint64_t i;
	struct fm_map *m = unpack(e, &i);
	_Atomic uint8_t *p;
	int why;

	if (!m)
		return false;
	if (!(e & (HUGE_FLAG | PART_FLAG)) && (fm_mode(m, i) & PM_HUGE))
		return false; /* collapsed since: the unit has an entry */
	if (moves(m, i, b->pool, e))
		return false;
	if (e & HUGE_FLAG) {
		consider_unit(b, l, m, i, e);
		return true;
	}
	p = fm_file_page(m->file, m->pgoff + i);
	if (!fm_page_trylock(p)) {
		fm_evict_return(l, e);
		return true;
	}
	/* munmap or mremap may have passed between the table and the lock. */
	if (!fm_map_current(m, i)) {
		fm_page_unlock(p);
		return true;
	}
	why = fm_drop_forbidden(m, i, p);
	if ((why == 0 || why == -EAGAIN) && cache_stays(m, i, why == -EAGAIN) &&
	    why == 0)
		why = -EBUSY;
	if (why == 0) {
		batch_add(b, m, i,
			  !(e & PART_FLAG) && fm_lazyfree_wanted(m, i, p));
		return true;
	}
	if (why == -ENOENT)
		forget_entry(m, i);
	else
		fm_evict_return(l, e);
	b->dirty += why == -EAGAIN;
	fm_page_unlock(p);
	return true;
}

static FM_FAULT void evict_pool(unsigned s, struct batch *b, uint64_t want)
{
	unsigned p = fm_evict_turn(s, b->pool);
	uint64_t budget = fm_least(4 * BATCH, fm_evict_entries(s, b->pool, p));
	unsigned looked = 0;

	while (budget && b->n + b->pages < want && b->n < BATCH &&
	       b->gave < b->most && looked++ < MOST_LOOKED) {
		struct fm_evict_list *l = fm_evict_victims(s, b->pool, p);
		uint64_t e;

		if (!fm_evict_pop(l, &e))
			break;
		budget -= consider(b, l, e);
	}
}

/* Of a pool that is dirty, or locked, little may leave; the next one is
 * asked. */
static FM_FAULT void evict_shard(unsigned s, struct batch *b, uint64_t want)
{
	uint64_t asked = 0;

	while (b->n + b->pages < want) {
		b->gave = 0;
		b->pool = fm_shares_victim(s, nshards, asked, &b->most);
		if (b->pool == FM_EVICT_POOLS)
			return;
		evict_pool(s, b, want);
		if (b->most < UINT64_MAX)
			fm_probe_left(b->gave);
		if (b->gave)
			return;
		asked |= 1ull << b->pool;
	}
}

/* A page that the kernel might have taken: now it goes for good. False: it is
 * locked. */
static FM_FAULT bool consider_lazy(struct batch *b, uint64_t e)
{
	uint64_t i;
	struct fm_map *m = unpack(e, &i);
	_Atomic uint8_t *p = m ? fm_file_page(m->file, m->pgoff + i) : NULL;

	if (!m)
		return true;
	if (!fm_page_trylock(p))
		return !fm_mode_lazy(fm_mode(m, i));
	if (fm_map_current(m, i) && fm_mode_lazy(fm_mode(m, i)))
		batch_add(b, m, i, false);
	else
		fm_page_unlock(p);
	return true;
}

static FM_FAULT void trim_lazy(struct batch *b, unsigned shard)
{
	uint64_t e;

	for (int k = 0; k < 2 * BATCH && b->n < BATCH &&
			fm_lazyfree_pop(shard, nshards, &e); k++)
		if (!consider_lazy(b, e))
			fm_lazyfree_push(shard, e);
	if (b->n)
		batch_flush(b);
}

FM_FAULT void fm_cache_trim_lazy(void)
{
	struct batch b;

	batch_begin(&b);
	for (unsigned s = 0; s < nshards; s++)
		trim_lazy(&b, s);
}

FM_FAULT uint64_t fm_cache_evict(uint64_t want)
{
	struct batch b;
	uint64_t total = 0;
	unsigned dirty = 0;

	batch_begin(&b);
	for (unsigned k = 0; k < nshards && total < want; k++) {
		unsigned s = atomic_fetch_add(&clock_hand, 1) % nshards;

		b.pages = 0;
		total += fm_shrink_cached(want - total);
		if (total >= want)
			break;
		evict_shard(s, &b, want - total);
		dirty += b.dirty;
		b.dirty = 0;
		if (b.n)
			batch_flush(&b);
		total += b.pages;
		trim_lazy(&b, s);
	}
	if (dirty > BATCH / 2)
		fm_wb_kick();
	return total;
}

/* ---- the budget ------------------------------------------------------- */

static FM_FAULT uint64_t batch_size(void)
{
	uint64_t lim = fm_cache_limit();

	/* Batches of a small cache must not empty it. */
	return lim / 8 < 1 ? 1 : lim / 8 > BATCH ? BATCH : lim / 8;
}

FM_FAULT void fm_cache_charge(struct fm_file *f, uint64_t n)
{
	int64_t lim = (int64_t)fm_cache_limit();
	int64_t now = fm_cache_count(f, n);

	fm_evictor_check();
	for (int tries = 0; now > lim && tries < 64; tries++) {
		uint64_t need = (uint64_t)(now - lim);
		uint64_t want = batch_size();

		if (fm_cache_evict(need > want ? need : want) == 0 &&
		    !fm_wb_some()) {
			if (fm_wb_failing())
				break; /* dirty to the brim, and stays so */
			if (tries > 4)
				fm_sys0(SYS_sched_yield);
		}
		now = fm_cache_resident();
		lim = (int64_t)fm_cache_limit();
	}
}

/* ---- start ------------------------------------------------------------ */

static void cache_add_part(struct fm_map *m, uint64_t i, bool hot)
{
	fm_cache_enqueue(m, i, hot, FM_ENTRY_PART);
}

FM_UP(page_renamed, cache_add_part)
FM_UP(lazy_renamed, fm_cache_requeue)

static int cache_start(void)
{
	uint64_t bytes = fm_cache_bytes(&fm_settings()->cache);

	fm_cache_resize(bytes - fm_frame_share(bytes) * FM_HUGE);
	/* A tiny cache in many shards would be all rounding. */
	nshards = fm_cache_limit() >= 4096 ? FM_EVICT_SHARDS : 1;
	fm_evict_start();
	return fm_ghost_start(fm_cache_limit());
}

FM_LIFE(cache, .level = FM_LIFE_MEMORY, .start = cache_start,
	.reset = cache_reset, .what = "cache", .remedy = "lower FASTMAP_CACHE")
