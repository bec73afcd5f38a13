/* SPDX-License-Identifier: MIT */
/*
 * ahead.c - streams of the engine's mappings (detect.h), fault by fault. A
 * stream keeps up to policy->map_ahead bytes in flight or landed before its
 * reader, in small buffers at first, in whole frames once it has shown that it
 * goes on. Since a landed chunk is mapped only on its first touch, the position
 * of the reader is known, at one fault a chunk.
 *
 * How much comes on the first sign, how much ahead, and whether all that lies
 * between two steps is read with them, follows from what a read costs on the
 * device (io/device.h).
 *
 * MADV_RANDOM turns off what is done on suspicion. A program that said it once
 * and scans now (databases do, of tables that they mostly look things up in) is
 * believed after 32 pages one after the other. Where hardly any stream of a
 * mapping lasts (detect.h) it is the same, whatever was said.
 */
#include "ahead.h"

#include "base/lock.h"
#include "behind.h"
#include "cache/cache.h"
#include "chunk.h"
#include "detect.h"
#include "fetch.h"
#include "file/file.h"
#include "io/io.h"
#include "map/map.h"
#include "policy.h"
#include "tunables.h"

/* ---- limits ------------------------------------------------------------ */

FM_FAULT uint64_t fm_ahead_most(void)
{
	return fm_cache_limit() / 8;
}

/* The program's own word, which goes before the policy's; 0: none. Half of it
 * is for the chunk that the reader is in, which is mapped as a whole. */
static FM_FAULT uint64_t ahead_said(const struct fm_map *m)
{
	return (atomic_load_explicit(&m->ahead_most, memory_order_relaxed) +
		1) / 2;
}

/* Pages that all streams of m together may have ahead. */
static FM_FAULT uint64_t ahead_room(const struct fm_map *m)
{
	const uint64_t said = ahead_said(m);

	return fm_least(said ? said :
			m->file->policy->map_ahead >> FM_PAGE_SHIFT,
			fm_ahead_most() + fm_frame_lent() * FM_HUGE_PAGES);
}

static FM_FAULT uint64_t streams_lately(const struct fm_stream_set *st)
{
	uint64_t n = 0;

	for (int k = 0; k < FM_STREAMS; k++)
		n += fm_stream_lately(st, &st->s[k]);
	return n ? n : 1;
}

/* The stream's part of the frames, when all streams in use share them. */
static FM_FAULT uint64_t fair_part(const struct fm_stream_set *st)
{
	return fm_frame_limit() * FM_HUGE_PAGES / streams_lately(st);
}

/* It is less than a stream has earned: there are to be as many frames as keep
 * the device busy, and the one that each reader is at. */
static FM_FAULT void wish_frames(const struct fm_map *m)
{
	fm_frame_wish(fm_device_depth(m->file->io->device, FM_HUGE_PAGES, 0) +
		      streams_lately(atomic_load(&m->streams)));
}

/* Its part of the small buffers, of which some are others'. */
static FM_FAULT uint64_t strided_part(const struct fm_stream_set *st)
{
	uint64_t n = 0;

	for (int k = 0; k < FM_STREAMS; k++)
		n += fm_stream_lately(st, &st->s[k]) &&
		     fm_stream_strided(&st->s[k]);
	return FM_CHUNK_PIECES * 7 / 8 / (n ? n : 1);
}

/* Pages that a stream brings on its first sign: a small buffer, or what the
 * device reads in the time of one read's fixed part, where that is worth a
 * frame. */
static FM_FAULT uint64_t first_unit(const struct fm_map *m)
{
	uint64_t even = fm_device_hides(m->file);

	return even < fm_tune.ahead_frame_from ? FM_CHUNK_PIECE :
						 fm_least(even, FM_HUGE_PAGES);
}

/* What lies between two steps is read along where it takes the device less than
 * another read, as a disk is made. While nothing is known of reads in company
 * it is taken for one that does them one by one: that costs less if wrong. */
static FM_FAULT bool reads_gaps(const struct fm_map *m,
				const struct fm_stream *s)
{
	uint64_t even = fm_device_even_among(m->file);
	bool other = fm_device_wants_other(m->file);

	if (!even)
		even = fm_device_even(m->file);
	return !fm_stream_strided(s) ||
	       (fm_pages_apart(s->step, 0) <= even) != other;
}

/* Pages that s may have come in, and may be ahead for it. */
static FM_FAULT uint64_t earned(const struct fm_map *m,
				const struct fm_stream *s, bool gaps)
{
	const uint64_t step = fm_pages_apart(s->step, 0);
	const uint64_t n = gaps ? FM_HUGE_PAGES : 1;
	const uint64_t busy = fm_device_depth(m->file->io->device, n, 0);

	if (!gaps)
		return (fm_detect_earned(s->passed, busy) + 2) * step;
	return fm_detect_earned(s->passed * step, busy * n) +
	       2 * first_unit(m);
}

/* Pages that s may be ahead of its reader. What it has earned beyond its part
 * is wished for. */
static FM_FAULT uint64_t reach_and_wish(const struct fm_map *m,
					const struct fm_stream *s, bool gaps)
{
	const struct fm_stream_set *st = atomic_load(&m->streams);
	const uint64_t n = earned(m, s, gaps);
	uint8_t advice = atomic_load(&m->advice);
	uint64_t part = fair_part(st), most = ahead_room(m);

	if (gaps && n > part)
		wish_frames(m);
	if (!gaps)
		most = fm_least(strided_part(st) * fm_pages_apart(s->step, 0),
				ahead_said(m) ? most : UINT64_MAX);
	else if (part && most > part)
		most = part;
	if (advice == MADV_SEQUENTIAL)
		return most;
	if (s->passed <= fm_tune.ahead_proven &&
	    (advice == MADV_RANDOM ||
	     (!fm_stream_strided(s) && fm_detect_in_vain(st))))
		return 0;
	return fm_least(n, most);
}

/* Pages of the mapping that lie in the file. */
static FM_FAULT int64_t stop_of(const struct fm_map *m)
{
	int64_t size = atomic_load(&m->file->size) + (int64_t)FM_PAGE_MASK;
	int64_t in_file = (size >> FM_PAGE_SHIFT) - (int64_t)m->pgoff;
	int64_t pages = (int64_t)fm_map_pages(m);

	return in_file < pages ? in_file : pages;
}

/* ---- reading ahead ----------------------------------------------------- */

static FM_FAULT bool ahead_is_small(const struct fm_map *m,
				    const struct fm_stream *s)
{
	return !fm_stream_strided(s) && s->passed < 4 * FM_CHUNK_PIECE &&
	       first_unit(m) < fm_tune.ahead_frame_from;
}

/* The next chunk of s: up to so many pages. 0: no buffer. */
static FM_FAULT uint64_t fetch(struct fm_map *m, const struct fm_stream *s,
			       uint64_t n, unsigned how)
{
	const uint64_t edge = (uint64_t)s->edge;

	if (s->step > 0)
		return fm_fetch_chunk(m, edge, edge + n, how);
	n = fm_least(n, edge + 1);
	return fm_fetch_chunk(m, edge + 1 - n, edge + 1, how | FM_CHUNK_DOWN);
}

/* Steps of a stride are equal. */
static FM_FAULT void move_edge(struct fm_stream *s, uint64_t n)
{
	const uint64_t step = fm_pages_apart(s->step, 0);

	n += fm_pages_apart(s->edge, s->pos);
	n = (n + step - 1) / step * step;
	s->edge = s->pos + (s->step > 0 ? (int64_t)n : -(int64_t)n);
}

/* `left`: pages that it may read. */
static FM_FAULT bool push_one(struct fm_map *m, struct fm_stream *s,
			      int64_t stop, bool gaps, uint64_t left)
{
	const bool small = !gaps || ahead_is_small(m, s);
	const uint64_t n = !gaps       ? 1 :
			   s->step > 0 ? fm_least((uint64_t)(stop - s->edge),
						  left) :
					 fm_least(FM_HUGE_PAGES, left);
	uint64_t got = fetch(m, s, n, small ? FM_CHUNK_SMALL : 0);

	/* No frame free and the reader is close: a small buffer may do. */
	if (!got && !small &&
	    fm_pages_apart(s->edge, s->pos) < 32 * fm_pages_apart(s->step, 0))
		got = fetch(m, s, n, FM_CHUNK_SMALL);
	if (got)
		move_edge(s, got);
	return got;
}

/* Small buffers one by one are a read and a turn of the thread each: while the
 * reader finds what it comes to, the second half is read when the first is
 * gone, all together, which the kernel makes one read of. Single pages stay
 * single, and want all the depth there is. */
static FM_FAULT bool has_enough(const struct fm_stream *s, bool gaps)
{
	return gaps && !fm_frame_limit() &&
	       fm_pages_apart(s->edge, s->pos) > s->full / 2;
}

/* Keep the pipe full. late: the reader has waited for what it came to. */
static FM_FAULT void push(struct fm_map *m, struct fm_stream *s, bool late)
{
	const bool gaps = reads_gaps(m, s);
	const int64_t stop = stop_of(m);
	/* also of who has enough for now: frames come later */
	const uint64_t most = reach_and_wish(m, s, gaps);

	if (!late && has_enough(s, gaps))
		return;
	for (int n = 0; n < FM_CHUNK_PIECES; n++) {
		const uint64_t has = fm_pages_apart(s->edge, s->pos);

		if (s->edge < 0 || s->edge >= stop || has >= most ||
		    !push_one(m, s, stop, gaps, ahead_said(m) ? most - has :
							FM_HUGE_PAGES))
			break;
	}
	s->full = fm_pages_apart(s->edge, s->pos);
}

/* ---- what is seen ------------------------------------------------------- */

static FM_FAULT struct fm_sight ahead_sight(void)
{
	return (struct fm_sight){ .near = fm_tune.ahead_gap,
				  .patience = 32, .each = 4 };
}

/* The reader is at page e->i. */
static FM_FAULT void ahead_advance(struct fm_map *m, struct fm_stream_set *st,
				   const struct fm_seen *e, bool late)
{
	const struct fm_sight how = ahead_sight();
	struct fm_stream *s = fm_detect(st, e, &how);

	st->clock++;
	if (!s && atomic_load(&m->advice) == MADV_SEQUENTIAL)
		s = fm_detect_begin(st, e->i, 1, FM_HUGE_PAGES);
	if (s)
		push(m, s, late);
	else
		fm_streaming_fault(m->file);
}

/* Pages below which it is not worth it: but a program may say two, one of them
 * ahead. */
static FM_FAULT uint64_t least_ahead(const struct fm_map *m)
{
	return atomic_load_explicit(&m->ahead_most, memory_order_relaxed) > 1 ?
		       1 : FM_CHUNK_PIECE;
}

/* Of small windows the kernel reads ahead, into its page cache. */
static FM_FAULT bool reads_ahead(const struct fm_map *m)
{
	return !fm_map_is_window(m) && ahead_room(m) >= least_ahead(m);
}

FM_FAULT void fm_ahead_fault(struct fm_map *m, const struct fm_seen *e)
{
	struct fm_stream_set *st;

	if (!reads_ahead(m)) {
		fm_streaming_fault(m->file);
		return;
	}
	st = fm_streams_of(m);
	if (!st || !fm_trylock(&st->lock))
		return;
	ahead_advance(m, st, e, true);
	fm_unlock(&st->lock);
}

/* The reader has come to a chunk: what its stream has passed leaves. Before it
 * asks for more: the frames that go are read into next. */
static FM_FAULT void leave_behind(struct fm_map *m, struct fm_stream_set *st,
				  const struct fm_seen *e)
{
	const struct fm_sight how = ahead_sight();
	struct fm_behind behind = { 0, 0 };
	struct fm_stream *s;

	if (!fm_trylock(&st->lock))
		return;
	s = fm_detect_find(st, e, &how);
	if (s)
		behind = fm_behind_claim(m, s, e->lo, e->hi - e->lo);
	fm_unlock(&st->lock);
	fm_behind_drop(m, behind);
}

/* Others' chunks, which WILLNEED brings, say nothing. */
static FM_FAULT void advance_chunk(struct fm_map *m, struct fm_stream_set *st,
				   const struct fm_seen *e, bool late)
{
	const struct fm_sight how = ahead_sight();

	if (!fm_detect_find(st, e, &how))
		return;
	ahead_advance(m, st, e, late);
	fm_streaming_read(m->file, (uint64_t)(e->hi - e->lo));
}

static FM_FAULT void ahead_took(struct fm_map *m, struct fm_stream_set *st,
				const struct fm_seen *e, bool late)
{
	leave_behind(m, st, e);
	if (!fm_trylock(&st->lock))
		return;
	advance_chunk(m, st, e, late);
	fm_unlock(&st->lock);
}

FM_FAULT uint64_t fm_ahead_take(struct fm_map *m, uint64_t i, uint32_t who,
				int64_t *ret_first)
{
	struct fm_seen e = { .i = (int64_t)i, .who = who };
	struct fm_stream_set *st;
	uint64_t n;
	bool late;

	if (!fm_chunk_take(m, i, &e.lo, &n, &late))
		return 0;
	*ret_first = e.lo;
	e.hi = e.lo + (int64_t)n;
	st = reads_ahead(m) ? fm_streams_of(m) : NULL;
	if (st)
		ahead_took(m, st, &e, late);
	return n;
}

void fm_ahead_want(struct fm_map *m, uint64_t i, uint64_t n, uint64_t tickets)
{
	int64_t stop = stop_of(m);

	if ((int64_t)i >= stop)
		return;
	if ((int64_t)(i + n) > stop)
		n = (uint64_t)stop - i;
	fm_chunk_want(m, i, n, tickets);
}

void fm_ahead_forget(struct fm_map *m)
{
	fm_streams_forget(m);
	fm_chunk_forget(m->file, m->pgoff, m->pgoff + fm_map_pages(m));
}
