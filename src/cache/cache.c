/* SPDX-License-Identifier: MIT */
#include "cache.h"

#include "base/life.h"
#include "base/shrinker.h"
#include "entries.h"
#include "evict_policy.h"
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
#include "victims.h"
#include "writeback/writeback.h"

#define BATCH 64
#define MOST_LOOKED 4096 /* size: entries of a pool, in one go */

static _Atomic uint32_t clock_hand; /* next shard to evict from */

static void cache_reset(void)
{
	fm_evict_reset();
	fm_cache_count_reset();
	fm_lazyfree_reset();
}

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
	struct fm_victims v; /* to be written first */
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
	b->n = b->dirty = b->v.n = 0;
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
	const struct fm_evict_policy *p = fm_entry_policy(m);
	uint8_t mode = fm_mode(m, i);
	bool mark = mode & PM_MAIN, stay;

	if (!p->stays)
		return false;
	stay = p->stays(&mark, dirty);
	fm_mode_set(m, i, (mode & (uint8_t)~PM_MAIN) | (mark ? PM_MAIN : 0));
	return stay;
}

/* Was the page queued in another pool than it belongs to now? Its entry goes
 * there: once, whenever its policy has changed or it was pinned. */
static FM_FAULT bool moves(struct fm_map *m, uint64_t i, unsigned pool,
			   uint64_t e)
{
	if (fm_shares_pool(m->file, m->pgoff + i) == pool)
		return false;
	fm_evict_push(fm_entry_list(m, i, fm_mode(m, i) & PM_MAIN,
				    fm_entry_kind(e)),
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

/* Page i of m, which is locked: into the batch, or e back into its queue. */
static FM_FAULT void consider_page(struct batch *b, struct fm_evict_list *l,
				   struct fm_map *m, uint64_t i, uint64_t e)
{
	_Atomic uint8_t *p = fm_file_page(m->file, m->pgoff + i);
	int why = fm_drop_forbidden(m, i, p);

	if ((why == 0 || why == -EAGAIN) && cache_stays(m, i, why == -EAGAIN) &&
	    why == 0)
		why = -EBUSY;
	if (why == 0) {
		batch_add(b, m, i,
			  !(e & FM_EVICT_PART) && fm_lazyfree_wanted(m, i, p));
		return;
	}
	if (why == -EAGAIN && fm_victims_add(&b->v, m, i, e)) {
		b->gave++;
		return;
	}
	if (why == -ENOENT)
		fm_entry_forget(m, i);
	else
		fm_evict_return(l, e);
	b->dirty += why == -EAGAIN;
	fm_page_unlock(p);
}

/* Put what entry e stands for into the batch, or e back into its queue. False:
 * it stood for nothing here. */
static FM_FAULT bool consider(struct batch *b, struct fm_evict_list *l,
			      uint64_t e)
{
	uint64_t i;
	struct fm_map *m = fm_entry_map(e, &i);
	_Atomic uint8_t *p;

	if (!m)
		return false;
	if (!(e & (FM_EVICT_UNIT | FM_EVICT_PART)) && (fm_mode(m, i) & PM_HUGE))
		return false; /* collapsed since: the unit has an entry */
	if (moves(m, i, b->pool, e))
		return false;
	if (e & FM_EVICT_UNIT) {
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
	consider_page(b, l, m, i, e);
	return true;
}

static FM_FAULT void evict_pool(unsigned s, struct batch *b, uint64_t want)
{
	unsigned p = fm_evict_turn(s, b->pool);
	uint64_t budget = fm_least(4 * BATCH, fm_evict_entries(s, b->pool, p));
	unsigned looked = 0;

	while (budget && b->n + b->pages + b->v.n < want && b->n < BATCH &&
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

	while (b->n + b->pages + b->v.n < want) {
		b->gave = 0;
		b->pool = fm_shares_victim(s, fm_entry_shards(), asked,
					   &b->most);
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

static FM_FAULT void consider_written(struct batch *b, uint64_t e)
{
	uint64_t i;
	struct fm_map *m = fm_entry_map(e, &i);

	if (m)
		consider(b, fm_entry_list(m, i, fm_mode(m, i) & PM_MAIN,
					  fm_entry_kind(e)), e);
}

/* What was dirty is written, and leaves, unless it has been stored to since. */
static FM_FAULT void leave_written(struct batch *b)
{
	const unsigned n = b->v.n;

	fm_victims_write(&b->v);
	for (unsigned k = 0; k < n; k++)
		consider_written(b, b->v.entry[k]);
	b->v.n = 0;
	if (b->n)
		batch_flush(b);
}

enum lazy_entry { LAZY_LEAVES, LAZY_STALE, LAZY_LOCKED };

/* A page that the kernel might have taken: now it goes for good. */
static FM_FAULT enum lazy_entry consider_lazy(struct batch *b, uint64_t e)
{
	uint64_t i;
	struct fm_map *m = fm_entry_map(e, &i);
	_Atomic uint8_t *p = m ? fm_file_page(m->file, m->pgoff + i) : NULL;

	if (!m)
		return LAZY_STALE;
	if (!fm_page_trylock(p))
		return fm_mode_lazy(fm_mode(m, i)) ? LAZY_LOCKED : LAZY_STALE;
	if (fm_map_current(m, i) && fm_mode_lazy(fm_mode(m, i))) {
		batch_add(b, m, i, false);
		return LAZY_LEAVES;
	}
	fm_page_unlock(p);
	return LAZY_STALE;
}

static FM_FAULT void trim_lazy(struct batch *b, unsigned shard)
{
	uint64_t e;

	for (int k = 0; k < 2 * BATCH && b->n < BATCH &&
			fm_lazyfree_pop(shard, fm_entry_shards(), &e); k++) {
		enum lazy_entry is = consider_lazy(b, e);

		if (is == LAZY_LOCKED)
			fm_lazyfree_push(shard, e);
		else if (is == LAZY_STALE)
			fm_lazyfree_stale();
	}
	if (b->n)
		batch_flush(b);
}

FM_FAULT void fm_cache_trim_lazy(void)
{
	struct batch b;

	batch_begin(&b);
	for (unsigned s = 0; s < fm_entry_shards(); s++)
		trim_lazy(&b, s);
}

FM_FAULT uint64_t fm_cache_evict(uint64_t want)
{
	const unsigned nshards = fm_entry_shards();
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
		if (b.v.n)
			leave_written(&b);
		total += b.pages;
		trim_lazy(&b, s);
	}
	if (dirty > BATCH / 2)
		fm_wb_kick();
	return total;
}

/* ---- start ------------------------------------------------------------ */

static int cache_start(void)
{
	uint64_t bytes = fm_cache_bytes(&fm_settings()->cache);

	fm_cache_resize(bytes - fm_frame_share(bytes) * FM_HUGE);
	fm_entry_start();
	fm_evict_start();
	return fm_ghost_start(fm_cache_limit());
}

FM_LIFE(cache, .level = FM_LIFE_MEMORY, .start = cache_start,
	.reset = cache_reset, .what = "cache", .remedy = "lower FASTMAP_CACHE")
