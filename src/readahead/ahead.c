/* SPDX-License-Identifier: MIT */
/*
 * ahead.c - streams. A mapping remembers its last few faults; two that follow
 * each other (or three at equal distance) are a stream. A stream keeps up to
 * policy->map_ahead bytes in flight or landed before its reader; the unit
 * doubles from 64 KiB to 2 MiB while it is used. Since a landed chunk is
 * mapped only on its first touch, the position of the reader is known, at one
 * fault a chunk.
 *
 * How much comes on the first sign, and whether all that lies between two steps
 * comes sooner than the steps alone, follows from what a read costs on the
 * device (io/device.h).
 *
 * Random faults match nothing and bring one page each. Now and then two of
 * them do follow each other. So a stream may go ahead by twice of what its
 * reader went through, by little more than keeps the device busy, loses half of
 * that credit where the reader leaps, and ends when it is not used for long:
 * what a chance hit brings is small, and later faults that fall into it do not
 * feed it.
 *
 * MADV_RANDOM turns off what is done on suspicion. A program that said it once
 * and scans now (databases do, of tables that they mostly look things up in) is
 * believed after 32 pages one after the other.
 */
#include "ahead.h"

#include "base/lock.h"
#include "behind.h"
#include "cache/cache.h"
#include "chunk.h"
#include "file/file.h"
#include "io/io.h"
#include "map/map.h"
#include "policy.h"
#include "tunables.h"

static FM_FAULT uint64_t distance(int64_t a, int64_t b)
{
	return (uint64_t)(a > b ? a - b : b - a);
}

/* ---- limits ------------------------------------------------------------ */

FM_FAULT uint64_t fm_ahead_most(void)
{
	return fm_cache_limit() / 8;
}

/* Pages that all streams of m together may have ahead. */
static FM_FAULT uint64_t room(const struct fm_map *m)
{
	uint64_t pages = m->file->policy->map_ahead >> FM_PAGE_SHIFT;
	uint64_t most = fm_ahead_most();

	return pages < most ? pages : most;
}

/* The stream's part of the frames, when all streams in use share them. */
static FM_FAULT uint64_t fair_part(const struct fm_stream_set *st)
{
	uint64_t n = 0;

	for (int k = 0; k < FM_STREAMS; k++)
		n += fm_stream_lately(st, &st->s[k]);
	return fm_frame_limit() * FM_HUGE_PAGES / (n ? n : 1);
}

static FM_FAULT bool is_strided(const struct fm_stream *s)
{
	return s->step != 1 && s->step != -1;
}

static FM_FAULT uint64_t strided_part(const struct fm_stream_set *st)
{
	uint64_t n = 0;

	for (int k = 0; k < FM_STREAMS; k++)
		n += fm_stream_lately(st, &st->s[k]) && is_strided(&st->s[k]);
	return fm_tune.ahead_strided / (n ? n : 1);
}

/* Pages that a stream brings on its first sign: a small buffer, or what the
 * device reads in the time of one read's fixed part, where that is worth a
 * frame. */
static FM_FAULT uint64_t first_unit(const struct fm_map *m)
{
	uint64_t even = fm_device_even(m->file);

	return even < fm_tune.ahead_frame_from ? fm_tune.ahead_first :
						 fm_least(even, FM_HUGE_PAGES);
}

FM_FAULT uint64_t fm_ahead_earned(uint64_t passed, uint64_t busy)
{
	const uint64_t n = 2 * passed;

	return n < busy ? n : busy + (n - busy) / 16;
}

static FM_FAULT uint64_t busy_pages(const struct fm_map *m)
{
	return fm_device_depth(m->file->io.device, FM_HUGE_PAGES, 0) *
	       FM_HUGE_PAGES;
}

/* Pages (accesses, when strided) that s may be ahead of its reader. */
static FM_FAULT uint64_t reach(const struct fm_map *m,
			       const struct fm_stream *s)
{
	uint64_t most = room(m);
	uint64_t earned = fm_ahead_earned(s->passed, busy_pages(m));
	const struct fm_stream_set *st = atomic_load(&m->streams);
	uint64_t part = fair_part(st);
	uint8_t advice = atomic_load(&m->advice);

	if (part && most > part)
		most = part;
	if (is_strided(s))
		most = fm_least(most, strided_part(st));
	if (advice == MADV_SEQUENTIAL)
		return most;
	if (advice == MADV_RANDOM && s->passed <= fm_tune.ahead_proven)
		return 0;
	earned += distance(s->step, 0) == 1 ? 2 * first_unit(m) : 2;
	return earned < most ? earned : most;
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

/* A chunk ends on a 2 MiB border of the address space, which is `border` pages
 * away, so that whole frames can be moved in: small buffers at first, whole
 * frames once the stream has shown that it goes on. */
static FM_FAULT uint64_t chunk_len(const struct fm_map *m,
				   const struct fm_stream *s, uint64_t border,
				   uint64_t left)
{
	uint64_t n = border;

	if ((s->unit <= 4 * fm_tune.ahead_first ||
	     s->passed < 2 * fm_tune.ahead_first) &&
	    first_unit(m) < fm_tune.ahead_frame_from)
		n = fm_tune.ahead_first;
	if (n > border)
		n = border;
	return n < left ? n : left;
}

/* Pages from the last such border to page i of m. */
static FM_FAULT uint64_t past_border(struct fm_map *m, int64_t i)
{
	return ((uintptr_t)fm_map_addr(m, (uint64_t)i) >> FM_PAGE_SHIFT) %
	       FM_HUGE_PAGES;
}

static FM_FAULT bool push_forward(struct fm_map *m, struct fm_stream *s,
				  int64_t stop)
{
	uint64_t border = FM_HUGE_PAGES - past_border(m, s->edge);
	uint64_t n = chunk_len(m, s, border, (uint64_t)(stop - s->edge));
	long got = fm_chunk_read(m, (uint64_t)s->edge, n, false);

	/* No frame free and the reader is close: a small buffer may do. */
	if (got == -EAGAIN && n > fm_tune.ahead_first && s->edge - s->pos < 32)
		got = fm_chunk_read(m, (uint64_t)s->edge, fm_tune.ahead_first,
				    false);
	if (got == -EAGAIN)
		return false;
	/* Nothing is missing, in as many as are looked at. */
	s->edge += got > 0 ? got : (long)fm_least(n, fm_tune.ahead_first);
	if (s->unit < FM_HUGE_PAGES)
		s->unit *= 2;
	return true;
}

/* [from, from + n), past a page that is there already if need be. */
static FM_FAULT long read_behind(struct fm_map *m, int64_t from, uint64_t n)
{
	long got = fm_chunk_read(m, (uint64_t)from, n, false);

	if (got >= 0 && (uint64_t)got + 1 < n)
		fm_chunk_read(m, (uint64_t)(from + got + 1),
			      n - (uint64_t)got - 1, false);
	return got;
}

static FM_FAULT bool push_backward(struct fm_map *m, struct fm_stream *s)
{
	uint64_t n = chunk_len(m, s, past_border(m, s->edge) + 1,
			       (uint64_t)(s->edge + 1));
	int64_t from = s->edge + 1 - (int64_t)n;
	long got = read_behind(m, from, n);

	if (got == -EAGAIN && n > fm_tune.ahead_first &&
	    s->pos - s->edge < 32) {
		from = s->edge + 1 - fm_tune.ahead_first;
		got = read_behind(m, from, fm_tune.ahead_first);
	}
	if (got == -EAGAIN)
		return false;
	s->edge = from - 1;
	if (s->unit < FM_HUGE_PAGES)
		s->unit *= 2;
	return true;
}

/* Steps that one read brings: more than one where all that lies between comes
 * sooner than the next step alone, as a disk is made. */
static FM_FAULT uint64_t steps_at_once(const struct fm_map *m,
				       const struct fm_stream *s, int64_t stop)
{
	uint64_t step = distance(s->step, 0), pages = 0;
	uint64_t left = (uint64_t)(s->step > 0 ? stop - s->edge : s->edge + 1);

	if ((step <= fm_device_even_among(m->file)) !=
	    fm_device_wants_other(m->file))
		pages = FM_HUGE_PAGES;
	pages = fm_least(pages, left);
	return pages <= step ? 1 : (pages - 1) / step + 1;
}

static FM_FAULT bool push_strided(struct fm_map *m, struct fm_stream *s,
				  int64_t stop)
{
	int64_t steps = (int64_t)steps_at_once(m, s, stop), first, last;

	for (;; steps = 1) {
		last = s->edge + (steps - 1) * s->step;
		first = last < s->edge ? last : s->edge;
		if (fm_chunk_read(m, (uint64_t)first,
				  distance(last, s->edge) + 1,
				  false) != -EAGAIN)
			break;
		if (steps == 1)
			return false;
	}
	s->edge = last + s->step;
	return true;
}

/* Keep the pipe full. A strided stream counts accesses, not pages. */
static FM_FAULT void push(struct fm_map *m, struct fm_stream *s)
{
	int64_t stop = stop_of(m);
	uint64_t most = reach(m, s);
	uint64_t ahead;

	for (int n = 0; n < 64; n++) {
		bool ok;

		if (s->edge < 0 || s->edge >= stop)
			return;
		ahead = distance(s->edge, s->pos);
		if (is_strided(s)) {
			ahead /= distance(s->step, 0);
			if (ahead > most)
				return;
			ok = push_strided(m, s, stop);
		} else {
			if (ahead >= most)
				return;
			ok = s->step > 0 ? push_forward(m, s, stop) :
					   push_backward(m, s);
		}
		if (!ok)
			return;
	}
}

/* ---- recognising ------------------------------------------------------- */

static FM_FAULT bool is_recent(const struct fm_stream_set *st, int64_t page)
{
	for (int k = 0; k < FM_RECENT; k++)
		if (st->recent[k].i == page)
			return true;
	return false;
}

/* The nearest fault from which page i lies a small leap onwards (backwards), or
 * NULL. */
static FM_FAULT const struct fm_seen *leapt_from(const struct fm_stream_set *st,
					      int64_t i, bool back)
{
	const struct fm_seen *nearest = NULL;
	int64_t least = fm_tune.ahead_gap + 1;

	for (int k = 0; k < FM_RECENT; k++) {
		const struct fm_seen *r = &st->recent[k];
		int64_t gap = back ? r->lo - i - 1 : i - r->hi;

		if (gap >= 0 && gap < least) {
			nearest = r;
			least = gap;
		}
	}
	return nearest;
}

/* Some of what lies in order is wanted, as when rows have been selected. All of
 * it together is read sooner than that page by page. */
static FM_FAULT bool selects(const struct fm_stream_set *st, int64_t i,
			     bool back)
{
	const struct fm_seen *r = leapt_from(st, i, back);
	int n = 0;

	while (r && ++n < fm_tune.ahead_leaps)
		r = leapt_from(st, r->i, back);
	return r;
}

/* The step of a new stream that page i completes, or 0. */
static FM_FAULT int64_t new_step(const struct fm_stream_set *st, int64_t i)
{
	for (int k = 0; k < FM_RECENT; k++) {
		if (i == st->recent[k].hi)
			return 1;
		if (i + 1 == st->recent[k].lo)
			return -1;
	}
	for (int k = 0; k < FM_RECENT; k++) {
		int64_t d = i - st->recent[k].i;

		if (distance(d, 0) >= fm_tune.ahead_least_stride &&
		    distance(d, 0) <= 4096 &&
		    is_recent(st, st->recent[k].i - d))
			return d;
	}
	if (selects(st, i, false))
		return 1;
	return selects(st, i, true) ? -1 : 0;
}

/* Does i lie on the way of s: at the next step or within what it has read
 * ahead? */
static FM_FAULT bool belongs(const struct fm_stream *s, int64_t i)
{
	int64_t lo = s->step > 0 ? s->pos : s->edge;
	int64_t hi = s->step > 0 ? s->edge : s->pos;

	if (!s->live)
		return false;
	if (s->step == 1 || s->step == -1)
		return i >= lo - 2 && i <= hi + 2;
	return i >= lo && i <= hi + (s->step > 0 ? 0 : 1) &&
	       (i - s->pos) % s->step == 0;
}

/* Others may fault in between, the more so the longer its chunks are. */
static FM_FAULT bool stale(const struct fm_stream_set *st,
			   const struct fm_stream *s)
{
	return st->clock - s->used > 32 + 4 * s->passed;
}

static FM_FAULT struct fm_stream *find(struct fm_stream_set *st, int64_t i)
{
	for (int k = 0; k < FM_STREAMS; k++) {
		if (st->s[k].live && stale(st, &st->s[k]))
			st->s[k].live = false;
		if (belongs(&st->s[k], i))
			return &st->s[k];
	}
	return NULL;
}

static FM_FAULT struct fm_stream *start(struct fm_stream_set *st, int64_t i,
				  int64_t step, uint64_t unit)
{
	struct fm_stream *s = &st->s[0];

	for (int k = 1; k < FM_STREAMS && s->live; k++)
		if (!st->s[k].live || st->s[k].used < s->used)
			s = &st->s[k];
	*s = (struct fm_stream){ .live = true,
				 .step = step,
				 .pos = i,
				 .edge = i + step,
				 .unit = unit,
				 .used = st->clock,
				 .behind = step < 0 ? i + 1 : i,
				 /* by advice, not by what was seen */
				 .passed = unit > fm_tune.ahead_first ? unit :
									0 };
	return s;
}

/* The stream that i belongs to or begins. */
static FM_FAULT struct fm_stream *stream_at(struct fm_map *m,
					    struct fm_stream_set *st, int64_t i)
{
	bool sequential = atomic_load(&m->advice) == MADV_SEQUENTIAL;
	struct fm_stream *s = find(st, i);
	int64_t step;

	if (s)
		return s;
	step = sequential ? 1 : new_step(st, i);
	if (!step)
		return NULL;
	return start(st, i, step,
		     sequential ? FM_HUGE_PAGES : fm_tune.ahead_first);
}

/* The reader has come to page i, and what was read with it ends at pos. Pages
 * that were present all along may lie between. */
static FM_FAULT void earn(struct fm_stream *s, int64_t i, int64_t pos)
{
	uint64_t step = distance(s->step, 0);

	if (distance(i, s->pos) / step <=
	    2 * fm_tune.ahead_first + s->passed / 4)
		s->passed += distance(pos, s->pos) / step;
	else
		s->passed /= 2;
}

/* The reader is at page i and everything up to pos, [seen.lo, seen.hi) has
 * been mapped. */
static FM_FAULT void advance(struct fm_map *m, struct fm_stream_set *st,
			     const struct fm_seen *seen, int64_t pos)
{
	struct fm_stream *s = stream_at(m, st, seen->i);

	st->recent[st->next_recent++ % FM_RECENT] = *seen;
	st->clock++;
	if (!s) {
		fm_streaming_fault(m->file);
		return;
	}
	if ((s->step > 0 && pos > s->pos) || (s->step < 0 && pos < s->pos)) {
		earn(s, seen->i, pos);
		s->pos = pos;
	}
	if (s->step == 1 && s->edge >= seen->lo && s->edge < seen->hi)
		s->edge = seen->hi;
	if (s->step == -1 && s->edge >= seen->lo && s->edge < seen->hi)
		s->edge = seen->lo - 1;
	if ((s->step > 0 && s->edge <= s->pos) ||
	    (s->step < 0 && s->edge >= s->pos))
		s->edge = s->pos + s->step;
	s->used = st->clock;
	push(m, s);
}

/* Of small windows the kernel reads ahead, into its page cache. */
static FM_FAULT bool reads_ahead(const struct fm_map *m)
{
	return !fm_map_is_window(m) && room(m) >= fm_tune.ahead_first;
}

FM_FAULT void fm_ahead_fault(struct fm_map *m, uint64_t i, uint64_t lo,
			     uint64_t hi)
{
	struct fm_seen seen = { (int64_t)i, (int64_t)lo, (int64_t)hi };
	struct fm_stream_set *st;

	if (!reads_ahead(m)) {
		fm_streaming_fault(m->file);
		return;
	}
	st = fm_streams_of(m);
	if (!st || !fm_trylock(&st->lock))
		return;
	advance(m, st, &seen, (int64_t)i);
	fm_unlock(&st->lock);
}

/* The stream has come to page i, in a chunk of n pages: what it has passed
 * leaves. Before it asks for more: the frames that go are read into next. */
static FM_FAULT void leave_behind(struct fm_map *m, struct fm_stream_set *st,
				  uint64_t i, int64_t first, uint64_t n)
{
	struct fm_behind behind = { 0, 0 };
	struct fm_stream *s;

	if (!fm_trylock(&st->lock))
		return;
	s = find(st, (int64_t)i);
	if (s)
		behind = fm_behind_claim(m, s, first, (int64_t)n);
	fm_unlock(&st->lock);
	fm_behind_drop(m, behind);
}

/* The reader has come to page i, in a chunk that has been mapped. */
static FM_FAULT void advance_chunk(struct fm_map *m, struct fm_stream_set *st,
				   int64_t i, int64_t first, uint64_t n)
{
	const struct fm_seen seen = { i, i, i + 1 };
	struct fm_stream *s = find(st, i);

	if (!s)
		return;
	/* One that leaps keeps in step, whoever read the chunk. */
	advance(m, st, &seen,
		s->step == 1  ? first + (int64_t)n - 1 :
		s->step == -1 ? first : i);
	fm_streaming_read(m->file, n);
}

FM_FAULT bool fm_ahead_take(struct fm_map *m, uint64_t i)
{
	struct fm_stream_set *st;
	int64_t first;
	uint64_t n;

	if (!fm_chunk_take(m, i, &first, &n))
		return false;
	if (!reads_ahead(m))
		return true;
	st = fm_streams_of(m);
	if (!st)
		return true;
	leave_behind(m, st, i, first, n);
	if (!fm_trylock(&st->lock))
		return true;
	advance_chunk(m, st, (int64_t)i, first, n);
	fm_unlock(&st->lock);
	return true;
}

void fm_ahead_want(struct fm_map *m, uint64_t i, uint64_t n)
{
	int64_t stop = stop_of(m);

	if ((int64_t)i >= stop)
		return;
	if ((int64_t)(i + n) > stop)
		n = (uint64_t)stop - i;
	fm_chunk_want(m, i, n);
}

void fm_ahead_forget(struct fm_map *m)
{
	fm_streams_forget(m);
	fm_chunk_forget(m->file, m->pgoff, m->pgoff + fm_map_pages(m));
}
