/* SPDX-License-Identifier: MIT */
#include "chunk_priv.h"

#include "base/lock.h"
#include "base/pause.h"
#include "cache/cache.h"
#include "file/file.h"
#include "map/map.h"
#include "tunables.h"

#define RUN_PAGES 64 /* size: locked at a time */

static bool on;
static _Atomic uint64_t streamed;

FM_FAULT uint64_t fm_chunk_streamed(void)
{
	return atomic_load_explicit(&streamed, memory_order_relaxed);
}

/* A landed chunk that nobody touched for longest makes room: wasted. All were
 * guesses: what has been asked for goes before, and does not wait until they
 * are stale. */
static FM_FAULT bool reclaim_oldest(bool frame, bool asked)
{
	const uint64_t stale = asked ? fm_tune.chunk_asked_ms :
				       fm_tune.chunk_stale_ms;
	struct fm_chunk *old = NULL;
	uint64_t now = fm_now_ms();

	fm_lock(&fm_chunk_lock);
	for (int k = 0; k < fm_chunk_top(); k++) {
		struct fm_chunk *c = &fm_chunks[k];

		if (atomic_load(&c->state) == CH_READY && !c->charged &&
		    frame == (c->frame != NULL) &&
		    c->stamp + stale < now &&
		    (!old || c->stamp < old->stamp))
			old = c;
	}
	if (old)
		atomic_store(&old->state, CH_TAKING);
	fm_unlock(&fm_chunk_lock);
	if (!old)
		return false;
	fm_count(&old->file->st->ahead_waste, old->n);
	fm_chunk_clear_flags(old->file, old->first, old->n);
	fm_chunk_release(old);
	return true;
}

/* ---- reading ----------------------------------------------------------- */

/* Page i of m can come: it is neither there nor locked, nor elsewhere newer. */
static FM_FAULT bool flag_page(struct fm_map *m, uint64_t i)
{
	_Atomic uint8_t *p = fm_file_page(m->file, m->pgoff + i);
	uint64_t j;
	bool ok;

	if ((fm_mode(m, i) & PM_PRESENT) || !fm_page_trylock(p))
		return false;
	ok = !(fm_page_state(p) & (FP_AHEAD | FP_DIRTY | FP_WB)) &&
	     !(fm_mode(m, i) & PM_PRESENT) &&
	     !atomic_load(&m->file->demote->frozen) &&
	     (!atomic_load(&m->aliased) ||
	      !fm_map_holder(m->file, m->pgoff + i, NULL, &j)) &&
	     fm_space_find((uintptr_t)fm_map_addr(m, i)) == m;
	if (ok) {
		fm_map_touch(m, i);
		ok = !fm_is_shut(m->file, m->pgoff + i);
	}
	if (ok)
		fm_page_set(p, FP_AHEAD, 0);
	fm_page_unlock(p);
	return ok;
}

/* Flag the pages that can come, from the first one on, in *ret_first. Some that
 * are there are read once more and left alone, for a device reads 64 KiB in
 * less time than twice four. */
static FM_FAULT uint64_t flag_pages(struct fm_map *m, uint64_t i, uint64_t n,
				    uint64_t *ret_first)
{
	uint64_t end = 0;

	for (uint64_t k = 0; k < n && k - end <= fm_tune.ahead_gap; k++) {
		if (!flag_page(m, i + k))
			continue;
		if (!end)
			*ret_first = k;
		end = k + 1;
	}
	return end;
}

FM_FAULT uint64_t fm_chunk_uncovered(const struct fm_map *m, uint64_t i,
				     uint64_t n, uint64_t *ret_skip)
{
	const uint64_t first = m->pgoff + i;
	uint64_t skip = 0, until = n;

	fm_lock(&fm_chunk_lock);
	for (int k = 0; k < fm_chunk_top(); k++) {
		const struct fm_chunk *c = &fm_chunks[k];

		if (!fm_chunk_covers(c, m->file, first, first + n))
			continue;
		if (c->first <= first)
			skip = fm_least(c->first + c->n - first, n);
		else
			until = fm_least(until, c->first - first);
	}
	fm_unlock(&fm_chunk_lock);
	*ret_skip = skip;
	return skip ? 0 : until;
}

/* A buffer for them. What another has asked for meanwhile is not thrown away
 * for the same bytes. */
static FM_FAULT struct fm_chunk *get_for(const struct fm_map *m, uint64_t i,
					 uint64_t n, bool asked)
{
	struct fm_chunk *c = fm_chunk_get(m->file, m->pgoff + i, n);
	uint64_t skip;

	if (c || fm_chunk_uncovered(m, i, n, &skip) < n ||
	    !reclaim_oldest(n > FM_CHUNK_PIECE, asked))
		return c;
	return fm_chunk_get(m->file, m->pgoff + i, n);
}

FM_FAULT long fm_chunk_read(struct fm_map *m, uint64_t i, uint64_t n,
			    bool eager)
{
	struct fm_chunk *c;
	uint64_t have, first = 0;

	if (!on)
		return -EAGAIN;
	c = get_for(m, i, n, eager);
	if (!c)
		return -EAGAIN;
	c->eager = eager;
	c->uncached = false;
	c->map_id = m->id;
	c->map_gen = atomic_load(&m->gen);
	fm_lazyfree_look(m, i, n, UINT64_MAX);
	have = flag_pages(m, i, n, &first);
	fm_lock(&fm_chunk_lock);
	c->first += first;
	c->n = have - first;
	fm_unlock(&fm_chunk_lock);
	if (!have) {
		fm_chunk_release(c);
		return 0;
	}
	fm_chunk_set_state(c, CH_QUEUED);
	fm_event_raise(&fm_chunk_bell);
	return (long)have;
}

/* ---- mapping ----------------------------------------------------------- */

/* The page is locked, and touched. May the chunk's data for it be mapped into
 * m? */
static FM_FAULT bool mappable(struct fm_chunk *c, struct fm_map *m, uint64_t i,
			      _Atomic uint8_t *p)
{
	uint64_t j;

	return (fm_page_state(p) & FP_AHEAD) && !atomic_load(&c->dead) &&
	       !(fm_page_state(p) & (FP_DIRTY | FP_WB)) &&
	       !(fm_mode(m, i) & PM_PRESENT) &&
	       !atomic_load(&m->file->demote->frozen) &&
	       !fm_is_shut(m->file, m->pgoff + i) &&
	       fm_space_find((uintptr_t)fm_map_addr(m, i)) == m &&
	       (!atomic_load(&m->aliased) ||
		!fm_map_holder(m->file, m->pgoff + i, NULL, &j));
}

/* Whole frame, all 512 pages at once. False: page by page then. */
static FM_FAULT bool map_huge(struct fm_chunk *c, struct fm_map *m)
{
	uint64_t i = c->first - m->pgoff, k, ok = 0;
	bool done = false;

	if (!c->frame || c->n != FM_HUGE_PAGES || c->got != (long)c->n ||
	    c->first < m->pgoff || !fm_huge_fits(m, i))
		return false;
	for (k = 0; k < c->n; k++) {
		_Atomic uint8_t *p = fm_file_page(m->file, c->first + k);

		fm_page_lock(p);
		fm_map_touch(m, i + k);
		ok += mappable(c, m, i + k, p) &&
		      !(fm_mode(m, i + k) & PM_QUEUED);
	}
	if (ok == c->n && (c->charged || fm_frame_pays()))
		done = fm_huge_install(m, i, c->frame, c->charged) == 0;
	for (k = 0; k < c->n; k++) {
		_Atomic uint8_t *p = fm_file_page(m->file, c->first + k);

		if (done)
			fm_page_set(p, 0, FP_AHEAD);
		fm_page_unlock(p);
	}
	/* Charged last: the frame has become hollow and takes the memory of
	 * what must leave for this. */
	if (done && !c->charged)
		fm_cache_charge(c->file, c->n);
	if (done)
		c->charged = 0; /* as pages of the mapping from now on */
	return done;
}

/* Neighbours that can be mapped go in one call. */
static FM_FAULT uint64_t map_run(struct fm_chunk *c, struct fm_map *m,
				 uint64_t k)
{
	uint64_t i = c->first + k - m->pgoff, n = 0, max = (uint64_t)c->got - k;
	long done = 0;

	if (max > RUN_PAGES)
		max = RUN_PAGES;
	fm_cache_charge(c->file, max);
	for (; n < max && i + n < fm_map_pages(m); n++) {
		_Atomic uint8_t *p = fm_file_page(m->file, c->first + k + n);

		fm_page_lock(p);
		fm_map_touch(m, i + n);
		if (!mappable(c, m, i + n, p)) {
			fm_page_unlock(p);
			break;
		}
	}
	if (n)
		done = fm_install(m, i, c->mem + (k << FM_PAGE_SHIFT), n,
				  false);
	for (uint64_t q = 0; q < n; q++) {
		_Atomic uint8_t *p = fm_file_page(m->file, c->first + k + q);

		fm_page_set(p, 0, FP_AHEAD);
		fm_page_unlock(p);
	}
	fm_cache_uncharge(c->file, done > 0 ? max - (uint64_t)done : max);
	return n ? n : 1;
}

static FM_FAULT void map_pages(struct fm_chunk *c, struct fm_map *m)
{
	for (uint64_t k = 0; k < (uint64_t)c->got;) {
		if (c->first + k < m->pgoff) {
			k = m->pgoff - c->first;
			continue;
		}
		if (c->first + k - m->pgoff >= fm_map_pages(m))
			break;
		if (!(fm_page_state(fm_file_page(c->file, c->first + k)) &
		      FP_AHEAD))
			k++;
		else
			k += map_run(c, m, k);
	}
}

FM_FAULT void fm_chunk_map(struct fm_chunk *c, struct fm_map *m)
{
	uint64_t from;

	if (atomic_load(&c->dead) || c->got <= 0)
		return;
	fm_count(c->charged ? &m->file->st->hits_standby :
			      &m->file->st->hits_ahead, 1);
	if (c->charged)
		fm_streaming_back(m->file, c->n, false);
	else
		fm_count(&streamed, c->n);
	if (map_huge(c, m))
		return;
	if (c->frame && !c->frame->full)
		return; /* lost on the way: read again on demand */
	from = fm_now_ns();
	map_pages(c, m);
	if (c->n == FM_HUGE_PAGES)
		fm_frame_copied(fm_now_ns() - from);
}

/* NULL: as long as it takes. */
static FM_FAULT void wait_change(struct fm_chunk *c, uint32_t s,
				 const struct timespec *most)
{
	for (int i = 0; i < 2000; i++) {
		if (atomic_load(&c->state) != s)
			return;
		fm_cpu_relax();
	}
	fm_futex_wait(&c->state, s, most);
}

/* Find the chunk over page fp; when it has landed, it becomes ours. */
static FM_FAULT struct fm_chunk *chunk_claim(struct fm_file *f, uint64_t fp,
					     uint32_t *ret_state)
{
	struct fm_chunk *c = NULL;

	fm_lock(&fm_chunk_lock);
	for (int k = 0; k < fm_chunk_top() && !c; k++)
		if (fm_chunk_covers(&fm_chunks[k], f, fp, fp + 1))
			c = &fm_chunks[k];
	*ret_state = c ? atomic_load(&c->state) : CH_FREE;
	if (*ret_state == CH_READY)
		atomic_store(&c->state, CH_TAKING);
	fm_unlock(&fm_chunk_lock);
	return c;
}

FM_FAULT bool fm_chunk_take(struct fm_map *m, uint64_t i, int64_t *ret_first,
			    uint64_t *ret_n, bool *ret_late)
{
	uint64_t fp = m->pgoff + i;
	struct fm_chunk *c;
	uint32_t s;

	for (*ret_late = false;; *ret_late = true) {
		c = chunk_claim(m->file, fp, &s);
		if (!c) {
			fm_chunk_clear_flags(m->file, fp, 1);
			return false;
		}
		if (s == CH_READY)
			break;
		wait_change(c, s, NULL);
	}
	*ret_first = (int64_t)(c->first - m->pgoff);
	*ret_n = c->n;
	fm_chunk_map(c, m);
	fm_chunk_clear_flags(m->file, c->first, c->n);
	fm_chunk_release(c);
	return true;
}

/* ---- forgetting -------------------------------------------------------- */

FM_FAULT void fm_chunk_kill(struct fm_file *f, uint64_t first, uint64_t stop)
{
	if (!fm_chunk_top())
		return;
	fm_lock(&fm_chunk_lock);
	for (int k = 0; k < fm_chunk_top(); k++)
		if (fm_chunk_covers(&fm_chunks[k], f, first, stop))
			atomic_store(&fm_chunks[k].dead, true);
	fm_unlock(&fm_chunk_lock);
}

/* One of those that cover a page of the range, dead and, unless it is in
 * flight, ours; if it is, it ends now where it can be (under the lock: it stays
 * what it is). NULL: there is none. */
static struct fm_chunk *chunk_condemn(struct fm_file *f, uint64_t first,
				      uint64_t stop, uint32_t *ret_state,
				      bool *ret_again)
{
	struct fm_chunk *c = NULL;

	*ret_again = false;
	fm_lock(&fm_chunk_lock);
	for (int k = 0; k < fm_chunk_top() && !c; k++)
		if (fm_chunk_covers(&fm_chunks[k], f, first, stop))
			c = &fm_chunks[k];
	if (c) {
		*ret_state = atomic_load(&c->state);
		atomic_store(&c->dead, true);
		if (*ret_state == CH_READY || *ret_state == CH_QUEUED)
			atomic_store(&c->state, CH_TAKING);
		*ret_again = *ret_state == CH_INFLIGHT && fm_io_cancel(&c->io);
	}
	fm_unlock(&fm_chunk_lock);
	return c;
}

/* Returns one that is in flight, in *ret_state, or NULL: none is left. *again:
 * it may be cancelled at the next call. */
static struct fm_chunk *forget_landed(struct fm_file *f, uint64_t first,
				      uint64_t stop, uint32_t *ret_state,
				      bool *ret_again)
{
	struct fm_chunk *c = NULL;

	while (fm_chunk_top() &&
	       (c = chunk_condemn(f, first, stop, ret_state, ret_again))) {
		if (*ret_state != CH_READY && *ret_state != CH_QUEUED)
			break;
		fm_count(&f->st->ahead_waste, c->charged ? 0 : c->n);
		if (*ret_state == CH_READY)
			fm_unmapped_note_ahead(f, c->first, c->n);
		fm_chunk_clear_flags(f, c->first, c->n);
		fm_chunk_release(c);
	}
	return c;
}

void fm_chunk_forget(struct fm_file *f, uint64_t first, uint64_t stop)
{
	const struct timespec soon = { 0, FM_PAUSE_US * 1000 };
	struct fm_chunk *c;
	uint32_t s;
	bool again;

	while ((c = forget_landed(f, first, stop, &s, &again)))
		wait_change(c, s, again ? &soon : NULL);
}

bool fm_chunk_forget_landed(struct fm_file *f, uint64_t first, uint64_t stop)
{
	uint32_t s;
	bool again;

	return !forget_landed(f, first, stop, &s, &again);
}

/* ---- start ------------------------------------------------------------- */

void fm_chunk_use(bool yes)
{
	on = yes;
}
