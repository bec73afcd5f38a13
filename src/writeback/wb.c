/* SPDX-License-Identifier: MIT */
#include "wb_priv.h"

#include <string.h>

#include "base/epoch.h"
#include "base/file_part.h"
#include "base/log.h"
#include "base/pause.h"
#include "engine.h"
#include "file/file.h"
#include "io/io.h"
#include "map/map.h"
#include "tunables.h"

FM_FILE_PART(failed)

#define RUNS 64       /* writes in flight per thread */
#define DEEP FM_RING_DEPTH /* in two threads that wait for all of it */
#define BATCH 16 /* submitted by one system call */

/* One write in flight. Its pages carry FP_WB. */
struct wb_run {
	struct fm_io io;
	struct fm_file *f;
	uint64_t first, n;
	uint32_t finished; /* pages, once it is done */
	bool used, counted, waits; /* for a witness */
};

/* msync and its like keep the device as busy as they can; background write-back
 * must leave room for reads. Too large for the stack of a thread of the
 * program. */
static struct {
	_Atomic bool taken;
	struct wb_run runs[DEEP];
} deep[2];

struct wb {
	struct fm_ring *ring;
	struct wb_run *runs;
	unsigned nruns;
	struct wb_run few[RUNS];
	unsigned inflight;
	uint64_t flying, most_flying; /* pages of these */
	struct fm_io *queued[BATCH]; /* not yet with the kernel */
	unsigned nqueued;
	int err;
	enum fm_wb_way way;
	bool wait, yields, sheds;
	unsigned pages, cleaned; /* written; and not dirty any more */
};

/* ---- what is written -------------------------------------------------- */

/* A dirty page that no longer lies in the file goes, as in the kernel. */
static FM_FAULT void discard_beyond(struct fm_file *f, uint64_t fp,
				    _Atomic uint8_t *p, struct fm_map *m,
				    uint64_t i)
{
	if (m) { /* the next store must be seen again */
		if (fm_pinned(fm_map_addr(m, i), FM_PAGE))
			return;
		fm_cache_drop(m, i, 1);
	}
	fm_page_set(p, 0, FP_DIRTY);
	fm_dirty_clear(f, fp);
}

/* ---- finishing -------------------------------------------------------- */

/* Pages that are cleaned ahead of need are marked, to learn whether that was of
 * use. */
static FM_FAULT void note_cleaned(const struct wb *w, _Atomic uint8_t *p,
				  bool again)
{
	if (!(w->way & FM_WB_AHEAD) || w->sheds)
		return;
	fm_wb_cleaned(1);
	if (again)
		fm_wb_again(1);
	else
		fm_page_set(p, FP_CLEANED, 0);
}

/* Where the bytes are: the kernel may yet fail to write what its page cache has
 * got. */
static FM_FAULT void note_way(_Atomic uint8_t *p, const struct fm_io *io,
			      bool ok)
{
	if (io->buffered)
		fm_page_set(p, FP_CACHED, 0);
	else if (ok)
		fm_page_set(p, 0, FP_CACHED);
}

static FM_FAULT bool finish_page(struct wb *w, const struct wb_run *r, bool ok,
				 bool wait)
{
	struct fm_file *f = r->f;
	uint64_t fp = r->first + r->finished;
	_Atomic uint8_t *p = fm_file_page(f, fp);
	bool again;

	if (wait)
		fm_page_lock_wb(p);
	else if (!fm_page_trylock(p))
		return false;
	again = !ok || (fm_page_state(p) & FP_REDIRTY);
	fm_page_set(p, 0, again ? FP_WB | FP_REDIRTY :
				  FP_WB | FP_REDIRTY | FP_DIRTY);
	note_way(p, &r->io, ok);
	if (!again)
		fm_dirty_clear(f, fp);
	w->cleaned += !again;
	if (ok)
		note_cleaned(w, p, again);
	fm_page_unlock(p);
	/* fm_page_unlock wakes those who wait for FP_WB as well. */
	return true;
}

_Atomic uint64_t fm_wb_failed_ms;

static FM_FAULT void note_error(struct fm_file *f, int err)
{
	if (!fm_wb_err_note(f, err))
		return;
	fm_count(&f->st->wb_errors, 1);
	atomic_store(&f->failed->ms, fm_now_ms());
	atomic_store(&fm_wb_failed_ms, fm_now_ms());
	if (atomic_exchange(&f->failed->told, (uint32_t)-err) != (uint32_t)-err)
		fm_log(FM_LOG_ERROR,
		       "%s: write-back failed, errno %d: %s; the data stays in "
		       "memory and is tried again; free space or check the "
		       "device", f->path, -err, fm_error_text(-err));
}

static FM_FAULT bool is_part(const struct fm_io *io)
{
	return io->res > 0 && (uint64_t)io->res < io->len;
}

/* Not its memory has gone, but the end of its file. */
static FM_FAULT bool ends_before(const struct wb_run *r)
{
	return r->io.off + r->io.len > (uint64_t)fm_file_size_now(r->f);
}

static FM_FAULT void count_run(struct wb *w, const struct wb_run *r, bool ok)
{
	int err = r->io.res < 0 ? r->io.res : -EIO;

	if (ok) {
		fm_count(&r->f->st->writebacks, r->n);
		fm_count(&r->f->st->wb_bytes, r->io.len);
	} else {
		note_error(r->f, err);
		if (err == -EFAULT && !ends_before(r))
			fm_file_tear(r->f);
		if (!w->err)
			w->err = err;
	}
}

/* What has been written leaves, unless somebody has it already. */
static FM_FAULT void shed(const struct wb_run *r)
{
	struct fm_zap_batch d = { .n = 0 };

	for (uint64_t fp = r->first, i; fp < r->first + r->n; fp++) {
		struct fm_map *m = fm_map_holder(r->f, fp, NULL, &i);

		if (m)
			fm_zap_clean(&d, m, i);
	}
	fm_zap_now(&d);
}

/* False: a page of it is locked, and it is not waited for. */
static FM_FAULT bool finish_run(struct wb *w, struct wb_run *r, bool wait)
{
	bool ok = r->io.res == (int64_t)r->io.len;

	if (!r->counted)
		count_run(w, r, ok);
	r->counted = true;
	for (; r->finished < r->n; r->finished++)
		if (!finish_page(w, r, ok, wait))
			return false;
	w->pages += ok ? (unsigned)r->n : 0;
	if (ok && w->sheds)
		shed(r);
	r->used = false;
	w->inflight--;
	w->flying -= r->n;
	return true;
}

/* Nothing but locked pages is left. Who holds them may be waiting for a ring:
 * do not keep ours. */
static FM_FAULT void finish_locked(struct wb *w)
{
	fm_ring_put(w->ring);
	for (unsigned k = 0; k < w->nruns; k++)
		if (w->runs[k].used)
			finish_run(w, &w->runs[k], true);
	w->ring = fm_ring_get();
}

/* ---- the end of the file ---------------------------------------------- */

static FM_FAULT void end_io(struct fm_io *io, long res)
{
	io->res = (int32_t)res;
	io->done = true;
}

/* Between its protection and its write others may run for long. What has been
 * put in place of its memory meanwhile is not the file's: its pages stay dirty,
 * until they are found to be gone. */
static FM_FAULT bool wb_is_replaced(struct fm_io *io)
{
	if (fm_uffd_has(io->buf, io->len))
		return false;
	end_io(io, -EFAULT);
	return true;
}

/* It has been cut meanwhile: its pages stay dirty, until they are found to lie
 * beyond the end. */
static FM_FAULT bool wb_is_cut(struct fm_io *io, uint64_t size)
{
	if (io->off + io->len <= size)
		return false;
	end_io(io, -EFAULT);
	return true;
}

/* Of what has waited for others, the size may have changed since, or the
 * memory. */
static FM_FAULT void drop_ended(struct wb *w)
{
	uint64_t size = (uint64_t)fm_file_size_now(w->queued[0]->file);
	unsigned n = 0;

	for (unsigned k = 0; k < w->nqueued; k++)
		if (!wb_is_cut(w->queued[k], size) &&
		    !wb_is_replaced(w->queued[k]))
			w->queued[n++] = w->queued[k];
	w->nqueued = n;
}

/* The last page, or what no witness helps, if its bytes lie in the file: by
 * stores. False: by a write. */
static FM_FAULT bool stores(struct fm_io *io, uint64_t size)
{
	long n;

	if (!io->file->wb->mapped && (io->off | (FM_PAGE - 1)) < size - 1)
		return false;
	n = fm_witness_store(io->file, io->off, io->buf, io->len);
	if (n >= 0 && n < (long)io->len)
		n = -EFAULT;
	if (n == -EFAULT &&
	    !wb_is_cut(io, (uint64_t)fm_file_size_now(io->file)))
		return false; /* no room, or a device error: the write tells */
	if (n == -EAGAIN || n == (long)io->len) {
		io->buffered = true;
		end_io(io, n);
	}
	return io->done;
}

/* What is written so that it waits for whatever it has to wait for: not without
 * a witness, unless there can be none. True: that is all there is to do now. */
static FM_FAULT bool call_witness(struct fm_io *io)
{
	uint64_t size;
	int err;

	if (fm_witness_busy(io)) {
		end_io(io, -EAGAIN);
		return true;
	}
	size = (uint64_t)fm_file_size_now(io->file);
	if (wb_is_cut(io, size) || wb_is_replaced(io) || stores(io, size))
		return true;
	err = fm_witness_call(io);
	if (err == -EAGAIN || err == -EFAULT)
		end_io(io, err);
	return io->done;
}

/* False: later. */
static FM_FAULT bool wb_begin_again(struct wb *w, struct fm_io *io)
{
	io->done = false;
	io->nowait = false;
	if (!call_witness(io))
		fm_ring_submit(w->ring, &io, 1);
	return !io->done || io->res != -EAGAIN;
}

/* The file cannot do what was asked: to write without waiting, or directly. */
static FM_FAULT bool wb_is_refused(struct fm_io *io)
{
	if (io->buffered || (io->res != -EINVAL && io->res != -EOPNOTSUPP &&
			     io->res != -EPERM))
		return false;
	if (io->nowait && io->res == -EOPNOTSUPP) {
		atomic_store(&io->file->failed->waits, true);
		return true;
	}
	io->buffered = true;
	fm_store_use_pagecache(io->file);
	return true;
}

/* What has been written of it, or that it has been refused for now, is known.
 * The rest of a part gets an answer of its own; it is not in units of the
 * device any more. True: it is not over. What began again may have ended by now
 * (of a store without rings): it is looked at again all the same, for its
 * witness. */
static FM_FAULT bool wb_goes_on(struct wb *w, struct wb_run *r)
{
	struct fm_io *io = &r->io;
	bool part, again;

	if (io->vec && !fm_witness_heard(io))
		io->res = -EFAULT;
	part = is_part(io);
	if (part) {
		io->buf = (char *)io->buf + io->res;
		io->off += (uint64_t)io->res;
		io->len -= (uint64_t)io->res;
		io->buffered = true;
	}
	again = part || io->res == -EAGAIN || wb_is_refused(io);
	r->waits = again && !wb_begin_again(w, io);
	return again;
}

/* One system call, one device notification for the batch. Nobody waits for
 * the background thread: threads that fault go first. */
static FM_FAULT void wb_submit_queued(struct wb *w)
{
	if (!w->nqueued)
		return;
	drop_ended(w);
	fm_ring_submit(w->ring, w->queued, w->nqueued);
	w->nqueued = 0;
	if (w->yields)
		fm_sys0(SYS_sched_yield);
}

static FM_FAULT void wb_reap(struct wb *w, unsigned until)
{
	wb_submit_queued(w);
	while (w->inflight > until) {
		unsigned locked = 0, waits = 0;

		fm_ring_reap(w->ring);
		for (unsigned k = 0; k < w->nruns; k++) {
			struct wb_run *r = &w->runs[k];

			if (!r->used || !r->io.done)
				continue;
			if (!r->counted && wb_goes_on(w, r))
				waits += r->waits;
			else
				locked += !finish_run(w, r, false);
		}
		if (locked && locked == w->inflight)
			finish_locked(w);
		else if (waits && locked + waits == w->inflight)
			fm_sys_sleep_us(FM_PAUSE_US);
	}
}

/* ---- submitting ------------------------------------------------------- */

/* Direct I/O writes whole device blocks; a tail that is none goes through the
 * page cache. */
static FM_FAULT void submit(struct wb *w, struct fm_map *m, uint64_t i,
			    uint64_t n, uint64_t len, bool is_last)
{
	struct fm_file *f = m->file;
	struct wb_run *r = w->runs;
	struct fm_io *io;

	if (w->inflight == w->nruns)
		wb_reap(w, w->nruns - BATCH);
	if (w->flying + n > w->most_flying)
		wb_reap(w, w->inflight / 2);
	while (r->used)
		r++;
	io = &r->io;
	memset(io, 0, sizeof(*io));
	io->file = f;
	io->op = FM_WRITE;
	io->buf = fm_map_addr(m, i);
	io->off = (m->pgoff + i) << FM_PAGE_SHIFT;
	io->len = len;
	io->buffered =
		!fm_inflight_allow_direct(f) || atomic_load(&f->wb->sheds) ||
		atomic_load(&f->demote->through) || len % f->io->dio_align != 0;
	io->nowait = !io->buffered && !is_last && !fm_sys_confined() &&
		     !atomic_load(&f->failed->waits);
	r->f = f;
	r->first = m->pgoff + i;
	r->n = n;
	fm_heap_writes(f, r->first, n);
	r->finished = 0;
	r->counted = false;
	r->used = true;
	w->inflight++;
	w->flying += n;
	if (!io->nowait && call_witness(io))
		return; /* with reap */
	w->queued[w->nqueued++] = io;
	if (w->nqueued == BATCH)
		wb_submit_queued(w);
}

/* Every series of neighbours in one write. Their pages are not locked any more,
 * but FP_WB keeps them where they are. Of the last page, which is alone, what
 * lies in the file now that it is protected: a file that grows far behind it
 * does not wait for its lock, and what was stored there since must not count as
 * written. */
static FM_FAULT void submit_span(struct wb *w, const struct fm_span *s,
				 bool last)
{
	uint64_t off = (s->m->pgoff + s->i) << FM_PAGE_SHIFT, k = 0, n, len;
	uint64_t size =
		last ? (uint64_t)fm_file_size_now(s->m->file) : UINT64_MAX;

	while (k < s->n) {
		for (n = 0; k + n < s->n && fm_span_has(s, k + n);)
			n++;
		len = n << FM_PAGE_SHIFT;
		if (off + len > size)
			len = off < size ? size - off : 0;
		if (n)
			submit(w, s->m, s->i + k, n, len, last);
		k += n + !n;
	}
}

/* Write what begins at the locked page fp. Unlocks it. Returns the page to go
 * on with. */
static FM_FAULT uint64_t write_span(struct wb *w, struct fm_file *f,
				    uint64_t fp, uint64_t end)
{
	uint64_t size = (uint64_t)fm_file_size_now(f);
	uint64_t i, last = size ? (size - 1) >> FM_PAGE_SHIFT : 0;
	uint64_t max = end - fp;
	struct fm_map *m = fm_map_holder(f, fp, NULL, &i);
	_Atomic uint8_t *p = fm_file_page(f, fp);
	struct fm_span s;

	/* No holder: the page could not be installed after it was marked. */
	if (fp << FM_PAGE_SHIFT >= size || !m) {
		discard_beyond(f, fp, p, m, i);
		fm_page_unlock(p);
		return fp + 1;
	}
	if (last <= fp)
		max = 1;
	else if (max > last - fp)
		max = last - fp;
	fm_span_take(&s, m, i, max);
	submit_span(w, &s, last <= fp);
	return fp + s.n;
}

/* Whoever holds the page may be waiting for a ring: do not keep ours. */
static FM_FAULT void wait_page(struct wb *w, _Atomic uint8_t *p, uint8_t mask)
{
	wb_reap(w, 0);
	fm_ring_put(w->ring);
	fm_page_wait(p, mask);
	w->ring = fm_ring_get();
}

/* Lock a page for write-back; false: nothing to do there (any more). */
static FM_FAULT bool lock_dirty(struct wb *w, _Atomic uint8_t *p)
{
	for (;;) {
		if (!fm_page_trylock(p)) {
			if (!w->wait)
				return false;
			wait_page(w, p, FP_BUSY);
			continue;
		}
		if (fm_wb_due(p))
			return true;
		if (!w->wait || !(fm_page_state(p) & FP_WB)) {
			fm_page_unlock(p);
			return false;
		}
		/* Somebody else writes it; ours may be among the runs. */
		fm_page_unlock(p);
		wait_page(w, p, FP_WB);
	}
}

/* The cache is to be smaller: a page that only becomes clean may have been
 * stored to again before eviction comes to it. */
static FM_FAULT bool wb_is_over(void)
{
	int64_t most = (int64_t)fm_cache_limit();
	int64_t half_of_reserve = most / (2 * fm_tune.budget_reserve);

	return fm_cache_resident() > most + half_of_reserve;
}

/* Others may need memory at once while this goes on. */
static FM_FAULT void see_need(struct wb *w, struct fm_file *f)
{
	bool urgent = fm_wb_urgent();

	w->sheds = !w->wait && (urgent || wb_is_over());
	w->yields = (w->way & FM_WB_YIELD) && !w->sheds;
	if (w->sheds && urgent && !atomic_load(&f->wb->sheds))
		atomic_store(&f->wb->sheds, true);
}

static FM_FAULT void write_range(struct wb *w, struct fm_file *f,
				 uint64_t fp, uint64_t end, unsigned most)
{
	FM_IN_EPOCH();

	while (fp < end && w->pages < most) {
		_Atomic uint8_t *p;

		fp = fm_dirty_next(f, fp, end);
		if (fp >= end)
			break;
		p = fm_file_page(f, fp);
		see_need(w, f);
		if (lock_dirty(w, p))
			fp = write_span(w, f, fp, end);
		else
			fp++;
	}
	wb_reap(w, 0);
}

/* Pages that leave once they are written: neighbours in one write, of one
 * mapping each. */
static FM_FAULT void write_victims(struct wb *w, struct fm_map *const *map,
				   const uint64_t *index, unsigned n)
{
	struct fm_span s;
	unsigned k;

	for (; n; map += k, index += k, n -= k) {
		for (k = 1; k < n && map[k] == *map &&
			    index[k] == *index + k;)
			k++;
		fm_span_of(&s, *map, *index, k);
		submit_span(w, &s, false);
	}
	wb_reap(w, 0);
}

/* The next store to page i, which is locked, will be seen. -EBUSY: a system
 * call is storing into it; by force it gets EFAULT unless it is done. */
static int shut_page(struct fm_map *m, uint64_t i, bool force)
{
	uint8_t mode = fm_mode(m, i);
	int err;

	if (!(mode & PM_WRITABLE))
		return 0;
	if (force)
		fm_mode_set(m, i, mode & (uint8_t)~PM_WRITABLE);
	else if (!fm_pin_shut(m, i))
		return -EBUSY;
	err = fm_uffd_protect(fm_map_addr(m, i), FM_PAGE, true);
	if (err)
		fm_mode_set(m, i, mode);
	return err;
}

/* One write, through the page cache. */
static long write_alone(struct fm_io *io)
{
	while (call_witness(io)) {
		if (io->res != -EAGAIN)
			return io->res;
		io->done = false;
		fm_sys_sleep_us(FM_PAUSE_US);
	}
	fm_io_once(io);
	if (io->vec && !fm_witness_heard(io))
		io->res = -EFAULT;
	return io->res;
}

/* What lies in the file of page i of m, which is dirty. */
static long wb_write_page(struct fm_map *m, uint64_t i)
{
	uint64_t off = (m->pgoff + i) << FM_PAGE_SHIFT, size;
	long res = -EFAULT;

	fm_heap_writes(m->file, m->pgoff + i, 1);
	for (int k = 0; k < fm_tune.race_tries && res == -EFAULT; k++) {
		struct fm_io io = { .file = m->file, .op = FM_WRITE,
				    .buffered = true, .off = off,
				    .buf = fm_map_addr(m, i) };

		size = (uint64_t)fm_file_size_now(m->file);
		if (off >= size)
			return 0;
		io.len = fm_least(size - off, FM_PAGE);
		res = write_alone(&io);
		if (res == (long)io.len)
			return res;
	}
	return res < 0 ? res : -EIO;
}

int fm_wb_locked_page(struct fm_file *f, uint64_t fp, bool force)
{
	uint64_t i, off = fp << FM_PAGE_SHIFT;
	struct fm_map *m = fm_map_holder(f, fp, NULL, &i);
	_Atomic uint8_t *p = fm_file_page(f, fp);
	long res;

	if (!m || off >= (uint64_t)fm_file_size_now(f))
		return 0;
	res = shut_page(m, i, force);
	if (res == -ENOENT && fm_page_gone(m, i))
		return 0;
	if (res)
		return (int)res;
	res = wb_write_page(m, i); /* see submit_span */
	if (res < 0)
		note_error(f, (int)res);
	if (res <= 0)
		return (int)res;
	fm_page_set(p, FP_CACHED, FP_DIRTY);
	fm_dirty_clear(f, fp);
	return 0;
}

/* ---- interface -------------------------------------------------------- */

static FM_FAULT int take_runs(struct wb *w, bool many)
{
	int d = -1;

	w->runs = w->few;
	w->nruns = RUNS;
	for (int k = 0; k < 2 && d < 0 && many; k++)
		if (!atomic_exchange(&deep[k].taken, true))
			d = k;
	if (d >= 0) {
		w->runs = deep[d].runs;
		w->nruns = DEEP;
	}
	for (unsigned k = 0; k < w->nruns; k++)
		w->runs[k].used = false;
	return d;
}

static FM_FAULT uint64_t most_flying(enum fm_wb_way way, unsigned most)
{
	return most <= FM_WB_FEW ? FM_SPAN :
	       way & FM_WB_YIELD ? fm_tune.wb_ahead :
				   UINT64_MAX;
}

/* Those of one call. */
static FM_FAULT int wb_begin(struct wb *w, struct fm_file *f, bool many,
			     enum fm_wb_way way, unsigned most)
{
	const int d = take_runs(w, many);

	w->inflight = 0;
	w->flying = 0;
	w->most_flying = most_flying(way, most);
	w->nqueued = 0;
	w->err = 0;
	w->pages = w->cleaned = 0;
	w->way = way;
	w->wait = way & FM_WB_WAIT;
	see_need(w, f);
	w->ring = fm_ring_get();
	return d;
}

FM_FAULT int fm_wb_some_of(struct fm_file *f, uint64_t first, uint64_t end,
			   enum fm_wb_way way, unsigned most,
			   unsigned *ret_pages)
{
	struct wb w;
	int d = wb_begin(&w, f, (way & FM_WB_WAIT) && fm_dirty_count(f) > RUNS,
			 way, most);

	write_range(&w, f, first, end, most);
	fm_ring_put(w.ring);
	if (d >= 0)
		atomic_store(&deep[d].taken, false);
	if (ret_pages)
		*ret_pages += w.cleaned;
	return w.err;
}

FM_FAULT void fm_wb_victims(struct fm_map *const *map, const uint64_t *index,
			    unsigned n)
{
	struct wb w;

	wb_begin(&w, map[0]->file, false, FM_WB_TRY, n);
	w.sheds = false; /* whoever chose them sees that they leave */
	write_victims(&w, map, index, n);
	fm_ring_put(w.ring);
}

static int write_all(struct fm_file *f, uint64_t first, uint64_t end,
		     enum fm_wb_way way)
{
	int err = -EFAULT;

	if (fm_dirty_next(f, first, end) >= end)
		return 0;
	FM_BLOCK_SIGNALS();
	/* EFAULT: the memory went away under a write in flight; the page is
	 * still dirty, in another mapping. */
	for (int tries = 0; tries < 4 && err == -EFAULT; tries++)
		err = fm_wb_some_of(f, first, end, way, UINT32_MAX, NULL);
	return err;
}

int fm_wb_range(struct fm_file *f, uint64_t first, uint64_t end, bool wait)
{
	return write_all(f, first, end, wait ? FM_WB_WAIT : FM_WB_TRY);
}

static int wb_write_file(struct fm_file *f, enum fm_wb_way way)
{
	int err = write_all(f, 0, FM_MAX_FILE_PAGES, way);

	if (!err && fm_dirty_count(f) == 0)
		atomic_store(&f->wb->dirty_since_ms, 0);
	return err;
}

int fm_wb_file(struct fm_file *f)
{
	return wb_write_file(f, FM_WB_WAIT);
}

int fm_wb_ahead(struct fm_file *f, bool wait)
{
	fm_wb_conclude();
	return wb_write_file(f, FM_WB_AHEAD | (wait ? FM_WB_WAIT : FM_WB_TRY));
}

void fm_wb_runs_reset(void)
{
	for (int k = 0; k < 2; k++)
		atomic_store(&deep[k].taken, false);
}
