/* SPDX-License-Identifier: MIT */
#include "chunk_table.h"

#include <string.h>

#include "base/shrinker.h"
#include "base/ticket.h"
#include "cache.h"
#include "file/file.h"
#include "frame.h"
#include "tunables.h"

#define WORDS (FM_CHUNK_PIECES / 32)

struct fm_chunk fm_chunks[FM_CHUNKS];
struct fm_lock fm_chunk_lock;
static _Atomic uint32_t top; /* those from here on are CH_FREE */
static char *pieces;
static uint32_t pieces_free[WORDS]; /* bitmap */
static uint8_t piece_pages[FM_CHUNK_PIECES]; /* that it was taken for */
static uint64_t pages_taken; /* their sum */

FM_FAULT void fm_chunk_set_state(struct fm_chunk *c, uint32_t s)
{
	atomic_store(&c->state, s);
	fm_futex_wake(&c->state, 1 << 30);
}

FM_FAULT int fm_chunk_top(void)
{
	return (int)atomic_load(&top);
}

/* They are beside the cache, and most hold guesses: no more of them than a part
 * of it, lest a small one be pushed aside. */
static FM_FAULT uint64_t pieces_most(void)
{
	return fm_cache_limit() / fm_tune.shares_reserve + FM_CHUNK_PIECE;
}

static FM_FAULT bool get_piece(struct fm_chunk *c, uint64_t n)
{
	int w = 0;

	while (w < WORDS && !pieces_free[w])
		w++;
	if (w == WORDS || pages_taken + n > pieces_most())
		return false;
	c->piece = w * 32 + __builtin_ctz(pieces_free[w]);
	pieces_free[w] &= pieces_free[w] - 1;
	piece_pages[c->piece] = (uint8_t)n;
	pages_taken += n;
	c->mem = pieces + (size_t)c->piece * FM_CHUNK_PIECE * FM_PAGE;
	return true;
}

static FM_FAULT void chunk_table_put_piece(struct fm_chunk *c)
{
	if (c->piece >= 0) {
		pieces_free[c->piece / 32] |= 1u << c->piece % 32;
		pages_taken -= piece_pages[c->piece];
	}
	c->piece = -1;
}

static FM_FAULT struct fm_chunk *alloc_locked(struct fm_file *f,
					      uint64_t first, uint64_t n,
					      struct fm_frame *fr)
{
	struct fm_chunk *c = NULL;
	int end = fm_chunk_top();

	for (int k = 0; k < end; k++) {
		if (fm_chunk_covers(&fm_chunks[k], f, first, first + n))
			return NULL;
		if (atomic_load(&fm_chunks[k].state) == CH_FREE && !c)
			c = &fm_chunks[k];
	}
	if (!c && end < FM_CHUNKS)
		c = &fm_chunks[end];
	if (!c || (!fr && !get_piece(c, n)))
		return NULL;
	if (c == &fm_chunks[end])
		atomic_store(&top, (uint32_t)end + 1);
	c->frame = fr;
	if (fr) {
		c->piece = -1;
		c->mem = fr->mem;
	}
	c->charged = 0;
	c->tickets = 0;
	c->file = f;
	c->first = first;
	c->n = n;
	c->stamp = fm_now_ms();
	atomic_store(&c->dead, false);
	atomic_store(&c->state, CH_PREP);
	return c;
}

/* The chunk owns the frame from now on, if there is one. */
static FM_FAULT struct fm_chunk *alloc(struct fm_file *f, uint64_t first,
				       uint64_t n, struct fm_frame *fr)
{
	struct fm_chunk *c;

	fm_lock(&fm_chunk_lock);
	c = alloc_locked(f, first, n, fr);
	fm_unlock(&fm_chunk_lock);
	if (!c && fr)
		fm_frame_put(fr);
	return c;
}

FM_FAULT struct fm_chunk *fm_chunk_get_standby(struct fm_file *f,
					       uint64_t first)
{
	struct fm_frame *fr = fm_frame_get_hollow();

	return fr ? alloc(f, first, FM_HUGE_PAGES, fr) : NULL;
}

/* ---- who waits ---------------------------------------------------------- */

static FM_FAULT bool is_to_come(const struct fm_chunk *c)
{
	const uint32_t s = atomic_load(&c->state);

	return s == CH_PREP || s == CH_QUEUED || s == CH_INFLIGHT;
}

FM_FAULT void fm_chunk_wait_for(const struct fm_file *f, uint64_t first,
				uint64_t stop, uint64_t tickets)
{
	fm_lock(&fm_chunk_lock);
	for (int k = 0; k < fm_chunk_top(); k++) {
		struct fm_chunk *c = &fm_chunks[k];

		if (!fm_chunk_covers(c, f, first, stop) || !is_to_come(c))
			continue;
		fm_ticket_add(tickets & ~c->tickets);
		c->tickets |= tickets;
	}
	fm_unlock(&fm_chunk_lock);
}

/* Under the lock, for nobody else may see them any more. */
static FM_FAULT uint64_t take_tickets(struct fm_chunk *c)
{
	const uint64_t t = c->tickets;

	c->tickets = 0;
	return t;
}

FM_FAULT void fm_chunk_told(struct fm_chunk *c)
{
	uint64_t t;

	fm_lock(&fm_chunk_lock);
	t = take_tickets(c);
	fm_unlock(&fm_chunk_lock);
	fm_ticket_drop(t);
}

/* The owner of a chunk (CH_PREP, or CH_TAKING) gives it up. */
FM_FAULT void fm_chunk_release(struct fm_chunk *c)
{
	uint64_t tickets;

	fm_cache_uncharge(c->file, c->charged);
	if (c->frame)
		fm_frame_put(c->frame);
	fm_lock(&fm_chunk_lock);
	c->frame = NULL;
	c->charged = 0;
	chunk_table_put_piece(c);
	tickets = take_tickets(c);
	c->file = NULL;
	fm_chunk_set_state(c, CH_FREE);
	while (top && atomic_load(&fm_chunks[top - 1].state) == CH_FREE)
		top--;
	fm_unlock(&fm_chunk_lock);
	fm_ticket_drop(tickets);
}

FM_FAULT void fm_chunk_clear_flags(struct fm_file *f, uint64_t first,
				 uint64_t n)
{
	for (uint64_t fp = first; fp < first + n; fp++) {
		_Atomic uint8_t *p = fm_file_page(f, fp);

		if (!p || !(atomic_load(p) & FP_AHEAD))
			continue;
		fm_page_lock(p);
		fm_page_set(p, 0, FP_AHEAD);
		fm_page_unlock(p);
	}
}

FM_FAULT struct fm_chunk *fm_chunk_get(struct fm_file *f, uint64_t first,
				       uint64_t n)
{
	struct fm_frame *fr = n > FM_CHUNK_PIECE ? fm_frame_get() : NULL;

	return fr || n <= FM_CHUNK_PIECE ? alloc(f, first, n, fr) : NULL;
}

static void chunk_table_trim(void)
{
	fm_lock(&fm_chunk_lock);
	for (uint64_t k = 0; pieces && k < FM_CHUNK_PIECES; k++)
		if (pieces_free[k / 32] >> k % 32 & 1)
			fm_sys_madvise(pieces + k * FM_CHUNK_PIECE * FM_PAGE,
				       FM_CHUNK_PIECE * FM_PAGE, MADV_DONTNEED);
	fm_unlock(&fm_chunk_lock);
}

FM_UP(shrink_idle, chunk_table_trim)

int fm_chunk_table_start(void)
{
	pieces = fm_sys_anon((size_t)FM_CHUNK_PIECES * FM_CHUNK_PIECE *
			     FM_PAGE);
	if (!pieces)
		return -ENOMEM;
	memset(pieces_free, 0xff, sizeof(pieces_free));
	pages_taken = 0;
	return 0;
}

void fm_chunk_table_reset(void)
{
	for (int k = 0; k < fm_chunk_top(); k++) {
		atomic_store(&fm_chunks[k].state, CH_FREE);
		fm_chunks[k].file = NULL;
		fm_chunks[k].tickets = 0;
	}
	atomic_store(&top, 0);
	fm_lock_reset(&fm_chunk_lock);
}
