/* SPDX-License-Identifier: MIT */
#include "demote_pagecache.h"

#include "base/alloc.h"
#include "base/life.h"
#include "base/lock.h"
#include "base/sys.h"
#include "base/thread.h"
#include "engine.h"
#include "file/file.h"
#include "map/map.h"
#include "tunables.h"
#include "writeback/writeback.h"

#define MOST_RUNS ((size_t)1 << 20) /* size: of a list */

/* ---- what is resident ---------------------------------------------------- */

static bool more_room(struct fm_resident *h)
{
	size_t room = h->room ? 2 * h->room : 64;
	void *v = room <= MOST_RUNS ?
		fm_realloc(h->v, room * sizeof(*h->v)) : NULL;

	if (!v)
		return false;
	h->v = v;
	h->room = room;
	return true;
}

static void note_run(struct fm_resident *h, const struct fm_resident_run *r)
{
	if (h->n && h->v[h->n - 1].end == r->start)
		h->v[h->n - 1].end = r->end;
	else if (h->n < h->room || more_room(h))
		h->v[h->n++] = *r;
}

static void note(struct fm_map *m, uint64_t i, void *arg)
{
	const uintptr_t a = (uintptr_t)fm_map_addr(m, i);

	const struct fm_resident_run r = { a, a + FM_PAGE,
					   .piece = FM_WILLNEED_BYTES };

	if (fm_mode_charged(fm_mode(m, i)))
		note_run(arg, &r);
}

void fm_resident_note(struct fm_file *f, struct fm_resident *h)
{
	struct fm_map *m;

	*h = (struct fm_resident){ .v = NULL };
	fm_for_each_map(m, f)
		fm_map_each(m, 0, fm_map_pages(m), note, h);
}

/* So much the kernel reads of one MADV_WILLNEED, at least. */
static size_t piece_bytes(uint64_t read_ahead)
{
	return read_ahead < FM_WILLNEED_BYTES ? FM_WILLNEED_BYTES :
			fm_least(read_ahead, fm_tune.demote_piece);
}

void fm_resident_note_all(struct fm_file *f, uint64_t read_ahead,
			  struct fm_resident *h)
{
	const size_t piece = piece_bytes(read_ahead);
	struct fm_map *m;

	*h = (struct fm_resident){ .v = NULL };
	fm_for_each_map(m, f) {
		const uintptr_t a = atomic_load(&m->start);
		const uint64_t n = fm_pages_within(a, atomic_load(&m->end),
				m->pgoff, (uint64_t)fm_file_size(f));

		if (n)
			note_run(h, &(struct fm_resident_run){
				.start = a, .end = a + (n << FM_PAGE_SHIFT),
				.piece = piece, .from = a,
				.until_ms = fm_now_ms() +
					    fm_tune.demote_all_ms });
	}
}

/* ---- what is dirty ----------------------------------------------------- */

#define SLICE ((uint64_t)4096) /* size: pages of the file */

static void drop_clean(struct fm_map *m, uint64_t i, void *arg)
{
	fm_zap_clean(arg, m, i);
}

static void drop(struct fm_file *f, uint64_t first, uint64_t stop)
{
	struct fm_map *m;
	struct fm_zap_batch d = { .n = 0 };

	fm_for_each_map(m, f) {
		uint64_t lo = first > m->pgoff ? first - m->pgoff : 0;
		uint64_t hi = stop > m->pgoff ? stop - m->pgoff : 0;

		fm_map_each(m, lo, fm_least(hi, fm_map_pages(m)), drop_clean,
			    &d);
		fm_zap_now(&d);
	}
}

/* Errors are found, and said, by who writes what is dirty still. */
void fm_demote_write_pagecache(struct fm_file *f)
{
	bool much = fm_dirty_count(f) > fm_tune.demote_much;
	uint64_t fp = 0;

	/* Direct writes and the page cache do not mix; see fm_file_mixed. What
	 * it writes is all there is. */
	atomic_store(&f->wb.buffered, true);
	while (much && (fp = fm_dirty_next(f, fp, FM_MAX_FILE_PAGES)) <
			       FM_MAX_FILE_PAGES) {
		uint64_t stop = fm_least(fp + SLICE, FM_MAX_FILE_PAGES);

		if (fm_wb_range(f, fp, stop, true))
			break;
		drop(f, fp, stop);
		fp = stop;
	}
	fm_file_mixed(f);
}

/* ---- before a fork ----------------------------------------------------- */

/*
 * Direct writes of other pages may be in flight. A folio that has those pages,
 * too, could only have been read, which is heard of (fm_file_mixed): what is
 * written here has folios of its own.
 */
static int flush_through(struct fm_file *f)
{
	if (fm_dirty_count(f) >
	    (int64_t)(fm_cache_limit() >> fm_tune.demote_dirty_shift))
		return 0;
	atomic_fetch_add(&f->demote.through, 1);
	fm_wb_file(f);
	atomic_fetch_sub(&f->demote.through, 1);
	return 0;
}

void fm_engine_flush_for_fork(void)
{
	if (fm_active())
		fm_wb_each(flush_through);
	fm_engine_flush_for_others();
}

/* ---- into the page cache ----------------------------------------------- */

static struct fm_lock lock = FM_LOCK(FM_RANK_OF_TABLES);
static struct fm_resident later; /* under the lock */
static struct fm_resident now;   /* the write-back thread's */

/* Who brings all lets few pieces be under way: what the program misses
 * meanwhile does not wait behind all of them. */
static bool is_far_ahead(const struct fm_resident_run *r)
{
	const size_t ahead = fm_tune.demote_ahead * r->piece;

	return r->until_ms && r->start - r->from >= ahead &&
	       !fm_in_memory(r->start - ahead + r->piece - FM_PAGE);
}

static void ask_piece(struct fm_resident *h, struct fm_resident_run *r)
{
	const size_t n = fm_least(r->end - r->start, r->piece);

	fm_sys_madvise((void *)r->start, n, MADV_WILLNEED);
	r->start += n;
	h->asked += n;
	h->at += r->start == r->end;
}

/* By address: where something else lies by now no harm is done. */
bool fm_resident_ask(struct fm_resident *h, uint64_t ms)
{
	uint64_t until = fm_now_ms() + ms;

	while (h->at < h->n && fm_now_ms() < until) {
		struct fm_resident_run *r = &h->v[h->at];

		if (r->until_ms && fm_now_ms() > r->until_ms)
			h->at++;
		else if (is_far_ahead(r))
			fm_thread_sleep_ms(1);
		else
			ask_piece(h, r);
	}
	return h->at < h->n;
}

void fm_resident_forget(struct fm_resident *h)
{
	fm_free(h->v);
	*h = (struct fm_resident){ .v = NULL };
}

void fm_resident_move(struct fm_resident *to, struct fm_resident *h)
{
	for (; h->at < h->n && (to->n < to->room || more_room(to)); h->at++)
		to->v[to->n++] = h->v[h->at];
	fm_resident_forget(h);
}

void fm_resident_bring(struct fm_resident *h)
{
	if (!fm_resident_ask(h, fm_tune.demote_first_ms)) {
		fm_resident_forget(h);
		return;
	}
	fm_lock(&lock);
	fm_resident_move(&later, h);
	fm_unlock(&lock);
	fm_wb_kick();
}

static struct fm_resident take_later(void)
{
	struct fm_resident h;

	fm_lock(&lock);
	h = later;
	later = (struct fm_resident){ .v = NULL };
	fm_unlock(&lock);
	return h;
}

static void serve_later(void)
{
	if (!now.n)
		now = take_later();
	if (!now.n)
		return;
	if (!fm_resident_ask(&now, fm_tune.resident_turn_ms))
		fm_resident_forget(&now);
	fm_wb_kick(); /* for the rest, or what has come meanwhile */
}

static void forked(void)
{
	fm_lock_reset(&lock);
	later = now = (struct fm_resident){ .v = NULL };
}

static int offer(void)
{
	atomic_store(&fm_wb_idle, serve_later);
	return 0;
}

FM_LIFE(demote_pagecache, .level = FM_LIFE_HELPERS, .start = offer,
	.forked = forked)
