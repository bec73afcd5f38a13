/* SPDX-License-Identifier: MIT */
/*
 * fileio.c - the program's own reads and writes of a file that we hold.
 *
 * Before a change: what is dirty in the range goes to the file, and every
 * page of the range is locked, so that no load can read half of the change
 * and no store can be merged into a page that is about to be forgotten. Of a
 * range without an end those that were never touched are shut instead
 * (truncate_barrier.h). After it: our copies are dropped and loaded again on
 * the next touch; those of a short write at once, since who writes a page that
 * is mapped mostly looks at it soon (LMDB, SQLite), and a fault costs four
 * times as much, or rewritten where they are (inplace_update.h).
 */

#include "base/epoch.h"
#include "base/pause.h"
#include "cache/cache.h"
#include "engine.h"
#include "fault/fault.h"
#include "file/file.h"
#include "inplace_update.h"
#include "io/io.h"
#include "map/map.h"
#include "readahead/readahead.h"
#include "tunables.h"
#include "vm/vm.h"
#include "writeback/writeback.h"
#include "written.h"

static uint64_t first_page(off_t off)
{
	return (uint64_t)off >> FM_PAGE_SHIFT;
}

/* len 0 means to the end of everything that could ever be mapped. */
static uint64_t stop_page(off_t off, off_t len)
{
	uint64_t stop = ((uint64_t)off + (uint64_t)len + FM_PAGE_MASK) >>
			FM_PAGE_SHIFT;

	return len && stop < FM_MAX_FILE_PAGES ? stop : FM_MAX_FILE_PAGES;
}

int fm_file_flush(struct fm_file *f, off_t off, off_t len)
{
	fm_file_mixed(f);
	return fm_wb_range(f, first_page(off), stop_page(off, len), true);
}

int fm_file_sync(struct fm_file *f)
{
	int err = fm_wb_file(f), late = fm_wb_error(f);

	return fm_wb_told(err ? err : late);
}

/* What has been stored meanwhile is written, and the next store asks. */
int fm_file_shared(struct fm_file *f)
{
	if (atomic_load(&f->load->unshare) != FM_UNSHARE_ALWAYS)
		return 0;
	return fm_file_flush(f, 0, 0);
}

/* ---- locking a range --------------------------------------------------- */

/* Of a range that keeps the space lock only pages of touched groups are locked,
 * and the file is shut from its start on. */
static uint64_t fileio_next_page(const struct fm_range *r, uint64_t fp)
{
	return r->space ? fm_barrier_next(r->file, fp, r->stop) : fp;
}

/* Pages are visited in ascending order, as the lock order asks. */
static void fileio_lock_pages(struct fm_range *r, uint64_t stop)
{
	r->stop = stop;
	if (r->space)
		fm_shut(r->file, r->first, stop, &r->stop);
	for (uint64_t fp = fileio_next_page(r, r->first); fp < r->stop;
	     fp = fileio_next_page(r, fp + 1))
		fm_page_lock_idle(fm_file_page(r->file, fp));
}

static void unlock_pages(const struct fm_range *r)
{
	for (uint64_t fp = fileio_next_page(r, r->first); fp < r->stop;
	     fp = fileio_next_page(r, fp + 1))
		fm_page_unlock(fm_file_page(r->file, fp));
	if (r->space)
		fm_barrier_open(r->file);
}

/* Where what is to be clean ends. */
static uint64_t stays_until(const struct fm_range *r, uint64_t stop)
{
	return r->cut ? fm_least(r->whole, stop) : stop;
}

/* Everything locked; is anything dirty? Then it was stored to between the
 * flush and the lock. */
static bool locked_and_clean(struct fm_range *r, uint64_t stop)
{
	const uint64_t end = stays_until(r, stop);

	fileio_lock_pages(r, stop);
	if (fm_dirty_next(r->file, r->first, end) >= end)
		return true;
	unlock_pages(r);
	return false;
}

/* A store loop on the range can beat the flush for ever. Then write the dirty
 * pages under their locks, one by one. */
static int clean_locked(struct fm_file *f, uint64_t first, uint64_t stop,
			bool force)
{
	int err = 0;

	for (uint64_t fp = fm_dirty_next(f, first, stop); fp < stop && !err;
	     fp = fm_dirty_next(f, fp + 1, stop))
		err = fm_wb_locked_page(f, fp, force);
	return err;
}

/* Ends with every page locked, also on an error. A system call of another
 * thread that stores into the range is waited for, unless it takes long: it may
 * be waiting for what comes after this change. */
static int lock_clean(struct fm_range *r, uint64_t stop)
{
	const struct fm_wait w = fm_wait_for(fm_tune.moment_ms);
	bool last = false;
	int err;

	for (int tries = 0; tries < 3; tries++) {
		fm_wb_range(r->file, r->first, stays_until(r, stop), true);
		if (locked_and_clean(r, stop))
			return 0;
	}
	for (;;) {
		fileio_lock_pages(r, stop);
		err = clean_locked(r->file, r->first, stays_until(r, stop),
				   last);
		if (err != -EBUSY || last)
			return err;
		unlock_pages(r);
		last = !fm_wait_on(&w);
	}
}

/* What a range has beside page locks. The space lock keeps out others that shut
 * the file, and mmap, which may bring kept pages back without asking. */
static void lock_around(struct fm_range *r)
{
	if (r->space)
		fm_space_lock(&r->mask);
	else /* this thread holds page locks */
		fm_block_signals(&r->mask);
}

static void unlock_around(struct fm_range *r)
{
	if (r->space)
		fm_space_unlock(&r->mask);
	else
		fm_restore_signals(&r->mask);
}

/* Does it begin within a page that could not be written? */
static bool fileio_is_cut(const struct fm_range *r)
{
	return r->first < r->whole &&
	       fm_dirty_next(r->file, r->first, r->first + 1) == r->first;
}

static int try_range_lock(struct fm_file *f, off_t off, off_t len,
			  struct fm_range *r)
{
	uint64_t stop = stop_page(off, len);
	unsigned e;
	int err;

	if (!r->cut || !f->ephemeral) /* whole pages: none is cached there */
		fm_file_mixed(f);
	r->file = f;
	r->first = first_page(off);
	r->whole = ((uint64_t)off + FM_PAGE_MASK) >> FM_PAGE_SHIFT;
	r->cached = false;
	r->space =
		len == 0 || (uint64_t)len >> FM_PAGE_SHIFT >= FM_LEAF_PAGES * 4;
	if (stop < r->first)
		stop = r->first;
	lock_around(r);
	if (r->space)
		fm_file_drain(f, r->first, stop);
	if (!r->space && stop > r->first &&
	    fm_file_grow_leaves(f, r->first, stop - r->first)) {
		unlock_around(r);
		return -ENOMEM;
	}
	e = fm_epoch_enter();
	fm_chunk_forget(f, r->first, stop);
	err = lock_clean(r, stop);
	fm_epoch_leave(e);
	if (err && (len || fileio_is_cut(r))) {
		/* Unwritten bytes around a partial overwrite, or before the new
		 * end, would be lost. */
		unlock_pages(r);
		unlock_around(r);
		return err;
	}
	return 0;
}

/* What is written behind the end leaves a hole. The last page is part of the
 * change: stores to it beyond the end must not come to light. */
static void from_the_end(struct fm_file *f, off_t *off, off_t *len)
{
	off_t size;

	if (*off <= (off_t)atomic_load(&f->size))
		return;
	size = fm_file_size_now(f);
	if (*off <= size)
		return;
	f->load->sparse = true;
	if (size & FM_PAGE_MASK) {
		if (*len) /* 0: to the end, wherever it will be */
			*len += *off - size;
		*off = size;
	}
}

/* While the file is demoted our copies are still seen, but not known any more:
 * a change now would leave them as they were. Who finds the file not frozen
 * under the page locks is waited for by those who freeze it. */
static int fileio_lock(struct fm_file *f, off_t off, off_t len,
		       struct fm_range *r)
{
	int err;

	from_the_end(f, &off, &len);
	for (;;) {
		err = try_range_lock(f, off, len, r);
		if (err || r->space || !atomic_load(&f->demote->frozen))
			return err;
		fm_range_unlock(r, false, false);
		fm_wait_frozen(f);
	}
}

int fm_range_lock(struct fm_file *f, off_t off, off_t len,
		  struct fm_range *r)
{
	r->cut = false;
	return fileio_lock(f, off, len, r);
}

int fm_range_lock_cut(struct fm_file *f, off_t off, struct fm_range *r)
{
	r->cut = true;
	return fileio_lock(f, off, 0, r);
}

int fm_range_lock_hole(struct fm_file *f, off_t off, off_t len,
		       struct fm_range *r)
{
	r->cut = f->ephemeral && !((off | len) & FM_PAGE_MASK);
	return fileio_lock(f, off, len, r);
}

/* ---- dropping what the change made stale ------------------------------- */

#define RELOAD 64 /* size: pages: a bit each, and what a buffer holds */
_Static_assert(RELOAD << FM_PAGE_SHIFT <= FM_BOUNCE, "a buffer holds them");

struct stale {
	const struct fm_range *range;
	bool discard; /* what lies there is cut off */
	uint64_t own; /* from here on private copies go as well */
	uint64_t gone; /* of the first RELOAD pages, those just dropped */
	unsigned copies; /* of ours that were not the file's any more */
	bool pinned;
	struct fm_zap_batch drop;
};

/* Stored to, and the device refuses it: there is no other copy. Ranges with an
 * end are not changed then. */
static bool fileio_is_refused(struct fm_file *f, uint64_t fp, bool discard)
{
	return !discard && (fm_page_state(fm_file_page(f, fp)) & FP_DIRTY);
}

/* Its pages are locked: a system call that has them is waited for, but not
 * long, and but once. */
static bool in_use(const struct stale *d, void *page)
{
	return fm_pinned(page, FM_PAGE) &&
	       (d->pinned || !fm_pin_wait(page, FM_PAGE));
}

static void drop_copy(struct fm_map *m, uint64_t i, struct stale *d)
{
	uint8_t mode = fm_mode(m, i);
	bool discard = m->pgoff + i >= d->own;

	if (!(mode & PM_PRESENT) || ((mode & PM_COW) && !discard))
		return;
	if (m->shared && fileio_is_refused(m->file, m->pgoff + i, d->discard))
		return;
	if (in_use(d, fm_map_addr(m, i)))
		d->pinned = true;
	else {
		fm_zap_page(&d->drop, m, i);
		if (m->pgoff + i - d->range->first < RELOAD)
			d->gone |= 1ull << (m->pgoff + i - d->range->first);
	}
}

static void drop_in_map(struct fm_map *m, struct stale *d)
{
	uint64_t end = m->pgoff + fm_map_pages(m);
	const struct fm_range *r = d->range;
	uint64_t lo = r->first < m->pgoff ? m->pgoff : r->first;
	uint64_t hi = r->stop < end ? r->stop : end;

	for (uint64_t fp = fileio_next_page(r, lo); fp < hi;
	     fp = fileio_next_page(r, fp + 1)) {
		uint64_t i = fp - m->pgoff;
		uint64_t group = (m->mbase + i) >> FM_TOUCH_SHIFT;

		if (!atomic_load(&m->modes->touched[group])) {
			i = ((group + 1) << FM_TOUCH_SHIFT) - m->mbase;
			fp = m->pgoff + i - 1;
			continue;
		}
		drop_copy(m, i, d);
	}
	fm_zap_now(&d->drop);
}

/* Pages fp up to stop of what has been read to mem go back to m: how many. */
static uint64_t fileio_put_back(struct fm_map *m, uint64_t fp, uint64_t stop,
				const void *mem)
{
	long done = fm_install(m, fp - m->pgoff, mem, stop - fp, false);

	return done < 0 ? 0 : (uint64_t)done;
}

/* Takes the lowest run of set bits out of *bits, of which some are set: where
 * it begins, and its length. */
static unsigned take_run(uint64_t *bits, unsigned *ret_n)
{
	unsigned lo = (unsigned)__builtin_ctzll(*bits);
	uint64_t gap = ~(*bits >> lo);
	unsigned n = gap ? (unsigned)__builtin_ctzll(gap) : RELOAD;

	*bits = lo + n < RELOAD ? *bits >> (lo + n) << (lo + n) : 0;
	*ret_n = n;
	return lo;
}

/* What the page cache has of those pages of the range, if that takes no
 * waiting; mem is that of the first page. */
static bool load_named(const struct fm_range *r, uint64_t bits, char *mem)
{
	unsigned lo = (unsigned)__builtin_ctzll(bits);
	unsigned hi = RELOAD - (unsigned)__builtin_clzll(bits);

	return fm_load_cached(r->file, r->first + lo, hi - lo,
			      mem + ((size_t)lo << FM_PAGE_SHIFT)) == hi - lo;
}

static uint64_t put_back_all(struct fm_map *m, uint64_t first, uint64_t bits,
			     const char *mem)
{
	uint64_t done = 0;

	while (bits) {
		unsigned n, lo = take_run(&bits, &n);

		done += fileio_put_back(m, first + lo, first + lo + n,
					mem + ((size_t)lo << FM_PAGE_SHIFT));
	}
	return done;
}

/* What was dropped of m has just been written through the page cache: take it
 * from there. Under the same page locks, so that it is a load like any other.
 */
static void fileio_reload(struct fm_map *m, const struct stale *d)
{
	uint64_t n = (unsigned)__builtin_popcountll(d->gone);
	struct fm_bounce *b;

	fm_cache_charge(m->file, n);
	b = fm_bounce_get(); /* who has one does not wait for memory */
	if (load_named(d->range, d->gone, b->mem))
		n -= put_back_all(m, d->range->first, d->gone, b->mem);
	fm_bounce_put(b);
	fm_cache_uncharge(m->file, n);
}

/* ---- rewriting them in place ------------------------------------------- */

/* Pages of m in the range, which are RELOAD at most: a bit each for those that
 * are plain copies of the file's. False: others are among them. */
static bool plain_copies(struct fm_map *m, const struct fm_range *r,
			 uint64_t *ret)
{
	uint64_t i;

	*ret = 0;
	for (uint64_t fp = r->first; fp < r->stop; fp++) {
		uint8_t mode = fm_map_covers(m, fp, &i) ? fm_mode(m, i) : 0;

		if (!(mode & PM_PRESENT))
			continue;
		if ((mode & (PM_WRITABLE | PM_COW | PM_LAZY)) ||
		    fileio_is_refused(m->file, fp, false))
			return false;
		*ret |= 1ull << (fp - r->first);
	}
	return true;
}

static bool rewrite_runs(struct fm_map *m, uint64_t first, uint64_t bits,
			 const char *mem)
{
	while (bits) {
		unsigned n, lo = take_run(&bits, &n);

		if (!fm_rewrite(m, first + lo - m->pgoff,
				mem + ((size_t)lo << FM_PAGE_SHIFT), n))
			return false;
	}
	return true;
}

/* What the page cache has of the range goes over our copies. A system call that
 * has them as its buffer sees them change, as it would natively. False: drop
 * them. */
static bool rewrite_map(struct fm_map *m, const struct fm_range *r,
			unsigned *copies)
{
	struct fm_bounce *b;
	uint64_t bits;
	bool ok;

	if (!fm_map_readonly(m) || !plain_copies(m, r, &bits))
		return false;
	if (!bits)
		return true;
	if (!fm_inplace_on())
		return false;
	b = fm_bounce_get();
	ok = load_named(r, bits, b->mem) &&
	     rewrite_runs(m, r->first, bits, b->mem);
	fm_bounce_put(b);
	if (!ok)
		return false;
	*copies += (unsigned)__builtin_popcountll(bits);
	fm_count(&r->file->st->rewritten,
		 (uint64_t)__builtin_popcountll(bits));
	return true;
}

/* 2 MiB frames move into this one, which is why its pages cannot be rewritten.
 * Who writes often is better off without them. */
static void note_reload(struct fm_map *m)
{
	struct fm_file *f = m->file;
	uint64_t now = atomic_load(&f->calls->changed_ms);

	if (!fm_inplace_loose(m))
		return;
	if (now - atomic_load(&f->load->reloads_from) > 1000) {
		atomic_store(&f->load->reloads_from, now);
		atomic_store(&f->load->reloads, 0);
	}
	atomic_fetch_add(&f->load->reloads, 1);
}

static void renew_map(struct fm_map *m, struct stale *d, bool again)
{
	if (again && rewrite_map(m, d->range, &d->copies))
		return;
	d->gone = 0;
	drop_in_map(m, d);
	d->copies += (unsigned)__builtin_popcountll(d->gone);
	if (!again || !d->gone || d->pinned)
		return;
	fileio_reload(m, d);
	note_reload(m);
}

static void forget_states(const struct fm_range *r, bool discard)
{
	for (uint64_t fp = fileio_next_page(r, r->first); fp < r->stop;
	     fp = fileio_next_page(r, fp + 1)) {
		_Atomic uint8_t *p = fm_file_page(r->file, fp);

		if (fileio_is_refused(r->file, fp, discard))
			continue;
		if (fm_page_state(p) & FP_DIRTY)
			fm_dirty_clear(r->file, fp);
		fm_page_set(p, 0, FP_DIRTY | FP_ALLOC | FP_REDIRTY | FP_AHEAD);
		if (r->cached && !discard)
			fm_page_set(p, FP_CACHED, 0);
	}
}

/* False: a system call in flight uses a copy that is stale now. How many there
 * were is counted in *copies. */
static bool fileio_renew(const struct fm_range *r, bool discard,
			 unsigned *copies)
{
	const bool again = r->cached && r->stop - r->first <= RELOAD &&
			   !discard;
	struct fm_map *m;
	struct stale d = {
		.range = r,
		.discard = discard || r->cut,
		.own = discard ? r->whole : UINT64_MAX,
		.drop = { .stay_locked = true },
	};

	fm_for_each_map(m, r->file)
		renew_map(m, &d, again);
	*copies += d.copies;
	if (d.pinned)
		return false;
	forget_states(r, d.discard);
	if (r->cut)
		fm_heap_freed(r->file, r->whole, r->stop);
	return true;
}

static bool renew_again(const struct fm_range *r, bool discard)
{
	const uint64_t pages = r->space ? 0 : r->stop - r->first;
	struct fm_range now = { .cut = false };
	unsigned e, copies = 0;
	bool ok;

	if (try_range_lock(r->file, (off_t)(r->first << FM_PAGE_SHIFT),
			   (off_t)(pages << FM_PAGE_SHIFT), &now))
		return false;
	now.whole = r->whole;
	e = fm_epoch_enter();
	ok = fileio_renew(&now, discard, &copies);
	unlock_pages(&now);
	fm_epoch_leave(e);
	unlock_around(&now);
	return ok;
}

/* What is stale must not be stored to, or it would be written: the file is
 * held. The kernel has no copies of its own; if it cannot have the file they go
 * when the system call has ended. */
static void replace_stale(const struct fm_range *r, bool discard)
{
	const struct fm_wait w = fm_wait_for(fm_tune.patience_ms);
	int err = fm_file_demote(r->file, FM_WHY_CHANGED);

	while (err && !renew_again(r, discard) && fm_wait_on(&w))
		;
	fm_file_release(r->file);
}

void fm_range_unlock(struct fm_range *r, bool changed, bool discard)
{
	struct fm_file *f = r->file;
	const uint64_t from = changed && !discard ? fm_now_ns() : 0;
	unsigned e = fm_epoch_enter(), copies = 0;
	bool stale = false;

	if (changed) {
		atomic_store(&f->calls->changed_ms, fm_now_ms());
		fm_chunk_kill(f, r->first, r->stop);
		stale = !fileio_renew(r, discard, &copies);
	}
	if (stale)
		fm_file_hold(f);
	unlock_pages(r);
	fm_epoch_leave(e);
	unlock_around(r);
	if (stale)
		replace_stale(r, discard);
	if (atomic_load(&f->load->reloads) >= fm_tune.fileio_reloads &&
	    atomic_exchange(&f->load->reloads, 0) >= fm_tune.fileio_reloads)
		fm_inplace_tighten(f);
	if (!discard && copies)
		fm_written_note(f, fm_now_ns() - from);
}
