/* SPDX-License-Identifier: MIT */
#include "streams.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <sys/mman.h>

#include "advised.h"
#include "base/sys.h"
#include "base/types.h"
#include "io/io.h"
#include "krange.h"
#include "map/map.h"
#include "memory.h"
#include "pace.h"
#include "pull.h"
#include "readahead/readahead.h"
#include "tunables.h"

#define ROWS 16 /* size: of a look, which are not near each other */

struct fm_streams_counts fm_streams_counts;

static struct fm_stream_set set; /* pages are of the address space */
static struct fm_seen rows[ROWS]; /* of this look */
static unsigned n_rows;
static struct slow_row {
	uint32_t id;
	struct fm_fetch_run next;
} slow[ROWS]; /* of this look */
static unsigned n_slow;

/* ---- which there are --------------------------------------------------- */

static struct fm_sight streams_sight(void)
{
	return (struct fm_sight){
		.near = (int64_t)(fm_tune.streams_near >> FM_PAGE_SHIFT),
		.patience = fm_tune.streams_forget_ms,
	};
}

static uintptr_t streams_bytes_of(uint64_t pages)
{
	return pages << FM_PAGE_SHIFT;
}

static uintptr_t streams_come(const struct fm_stream *s)
{
	return streams_bytes_of(s->passed);
}

static bool streams_is_sure(const struct fm_stream *s)
{
	return s->live && streams_come(s) >= fm_tune.streams_sure;
}

/* It was seen in this look. */
static bool is_one(const struct fm_stream *s)
{
	return s->live && s->used == set.clock;
}

static unsigned how_many(bool (*is)(const struct fm_stream *s))
{
	unsigned n = 0;

	for (unsigned i = 0; i < FM_STREAMS; i++)
		n += is(&set.s[i]);
	return n;
}

static bool is_near(const struct fm_seen *a, const struct fm_seen *b)
{
	const int64_t near = streams_sight().near;

	return a->who == b->who && a->lo <= b->hi + near &&
	       a->hi + near >= b->lo;
}

/* What is near of a look is one step, with holes, in any order. */
static void note_row(const struct fm_seen *e)
{
	for (unsigned k = 0; k < n_rows; k++) {
		if (!is_near(&rows[k], e))
			continue;
		rows[k].lo = e->lo < rows[k].lo ? e->lo : rows[k].lo;
		rows[k].hi = e->hi > rows[k].hi ? e->hi : rows[k].hi;
		return;
	}
	if (n_rows < ROWS)
		rows[n_rows++] = *e;
}

void fm_streams_touched(const struct fm_row *r)
{
	const size_t least =
		r->slow ? fm_tune.streams_least_slow : fm_tune.streams_least;
	const struct fm_seen e = { .i = FM_NEVER, .who = r->id,
				   .lo = (int64_t)(r->start >> FM_PAGE_SHIFT),
				   .hi = (int64_t)(r->end >> FM_PAGE_SHIFT) };
	const struct fm_sight how = streams_sight();
	const struct fm_stream *s;

	if (r->end - r->start < least) {
		s = fm_detect_find(&set, &e, &how);
		if (!s || !streams_is_sure(s))
			return;
	}
	note_row(&e);
}

void fm_streams_slow(uint32_t id, uintptr_t start, uintptr_t end)
{
	if (n_slow < ROWS)
		slow[n_slow++] = (struct slow_row){ id, { start, end } };
}

/* Which way they went is known at its end. */
static void end_look(void)
{
	const struct fm_sight how = streams_sight();

	if (!set.clock)
		fm_streams_clear(&set);
	set.clock = fm_now_ms();
	fm_detect_age(&set, &how);
	for (unsigned k = 0; k < n_rows; k++)
		fm_detect(&set, &rows[k], &how);
	n_rows = 0;
}

void fm_streams_over(void)
{
	fm_streams_clear(&set);
	n_rows = n_slow = 0;
}

/* ---- what they will want ----------------------------------------------- */

static uint64_t until_ms;
/* Of each of the set's: */
static struct fm_pace pace[FM_STREAMS];
static struct gait {
	uint64_t passed; /* at the last look */
	uint64_t rate;   /* bytes a ms */
} gait[FM_STREAMS];

/* Pieces that keep the device busy until the next look. */
static uint64_t streams_pieces(const struct fm_fetch *f, dev_t dev,
			       uint64_t look_ms)
{
	return fm_device_depth(fm_device_of(dev), f->piece >> FM_PAGE_SHIFT,
			       look_ms * 1000000);
}

/* Bytes ahead of it. */
static size_t streams_window(const struct fm_stream *s,
			     const struct fm_fetch *f, dev_t dev, size_t most,
			     uint64_t look_ms)
{
	const uint64_t n = streams_pieces(f, dev, look_ms);
	const uint64_t bytes = fm_detect_earned(streams_come(s), n * f->piece);

	return fm_least(most, bytes > f->piece ? bytes : f->piece);
}

/* What lies between it and edge has been asked for. But a device that has too
 * much to do may have dropped that (FUSE), and tells nobody: what comes before
 * the first page that is not there has come. */
static uintptr_t come_up_to(uintptr_t pos, uintptr_t edge, bool down)
{
	const uintptr_t start = down ? edge + FM_PAGE : pos + FM_PAGE;
	const uintptr_t end = down ? pos : edge;
	uintptr_t got;

	if (start >= end)
		return edge;
	got = streams_bytes_of(fm_pages_in_memory(
		start, (end - start) >> FM_PAGE_SHIFT, down));
	return down ? end - got - FM_PAGE : start + got;
}

/* What is not asked for yet of so many bytes before it in r. */
static struct fm_fetch_run streams_wanted(const struct fm_stream *s,
					  size_t bytes,
					  const struct fm_krange *r)
{
	const uintptr_t pos = streams_bytes_of((uint64_t)s->pos);
	const uintptr_t edge =
		come_up_to(pos, streams_bytes_of((uint64_t)s->edge),
			   s->step < 0);

	if (s->step > 0)
		return (struct fm_fetch_run){
			edge, fm_least(pos + FM_PAGE + bytes, r->end) };
	return (struct fm_fetch_run){ pos - fm_least(bytes, pos - r->start),
				      edge + FM_PAGE };
}

static bool range_of(const struct fm_stream *s, struct fm_krange *ret)
{
	const uintptr_t pos = streams_bytes_of((uint64_t)s->pos);

	return fm_krange_first(pos, pos + FM_PAGE, ret) && ret->id == s->who;
}

/* Bytes a ms, of late. */
static uint64_t streams_rate(const struct fm_stream *s, uint64_t look_ms)
{
	const uint64_t passed = streams_come(s);
	struct gait *g = &gait[s - set.s];
	const uint64_t more = passed > g->passed ? passed - g->passed : 0;

	g->rate = (3 * g->rate + more / (look_ms + 1)) / 4;
	g->passed = passed;
	return g->rate;
}

static bool room_for_huge;

static bool streams_wants_huge(const struct fm_stream *s)
{
	return room_for_huge && streams_is_sure(s) && (s->step < 0 || s->slow);
}

/* Each of the kernel's reads has taken it four times what is known of one, or
 * more: that was measured in a burst (a disk that is held back). */
static bool waits_longer(const struct fm_stream *s, dev_t dev)
{
	const struct fm_pace *p = &pace[s - set.s];

	return p->state >= FM_PACE_TRIED &&
	       fm_readahead_bytes(dev) * 1000000 / (p->before + 1) >
		       4 * fm_device_late_ns(dev);
}

static bool comes_late(const struct fm_stream *s, dev_t dev)
{
	return fm_readahead_late(dev) == FM_LATE_MOSTLY ||
	       waits_longer(s, dev);
}

/* One that goes up and waits for most of the time, where the kernel reads less
 * than a fault of ours brings. What a disk near by is asked for comes as
 * fast. */
static bool pull(const struct fm_stream *s, const struct fm_krange *r,
		 size_t most, uint64_t look_ms)
{
	const uintptr_t pos = streams_bytes_of((uint64_t)s->pos);
	const uint64_t rate = streams_rate(s, look_ms);
	const uint64_t bytes = fm_detect_earned(
		streams_come(s), fm_pull_bytes(rate, look_ms));

	return fm_readahead_bytes(r->dev) < FM_PULLED &&
	       comes_late(s, r->dev) && fm_pull_may(r, most) &&
	       fm_pull(r, pos, pos + fm_least(bytes, most));
}

/* Whatever lies there by now: this changes nothing of it. So it is asked
 * without the lock that the program's munmap waits for. */
static void read_ahead(struct fm_stream *s, size_t most, uint64_t look_ms,
		       bool huge)
{
	struct fm_fetch_run r;
	struct fm_krange in;
	struct fm_fetch f;

	if (!range_of(s, &in))
		return;
	if (s->step == 1 && pull(s, &in, most, look_ms)) {
		s->slow = true; /* what is late nevertheless */
		return;
	}
	if (huge && streams_wants_huge(s))
		return;
	s->helped = true;
	fm_fetch_begin(&f, -1, in.dev, false);
	f.down = s->step < 0;
	f.until_ms = until_ms;
	r = streams_wanted(s, streams_window(s, &f, in.dev, most, look_ms),
			   &in);
	if (r.start >= r.end || !fm_krange_has(s->who, r.start, r.end))
		return;
	fm_fetch_run(&f, &r, fm_tune.advise_turn_ms);
	s->edge = (int64_t)(f.down ? r.end : r.start) >> FM_PAGE_SHIFT;
	s->edge -= f.down;
	atomic_fetch_add(&fm_streams_counts.bytes, f.asked);
}

/* No further than keeps the device busy. */
static void read_slow(const struct slow_row *w, size_t most, uint64_t look_ms)
{
	struct fm_fetch_run r = w->next;
	struct fm_krange in;
	struct fm_fetch f;

	if (!fm_krange_first(r.start, r.end, &in) || in.id != w->id)
		return;
	fm_fetch_begin(&f, -1, in.dev, false);
	f.until_ms = until_ms;
	most = fm_least(most, streams_pieces(&f, in.dev, look_ms) * f.piece);
	r.end = fm_least(r.end, r.start + most);
	if (r.start < r.end && fm_krange_has(w->id, r.start, r.end))
		fm_fetch_run(&f, &r, fm_tune.advise_turn_ms);
	atomic_fetch_add(&fm_streams_counts.bytes, f.asked);
}

static void read_slow_rows(size_t most, uint64_t look_ms)
{
	for (unsigned k = 0; k < n_slow; k++)
		read_slow(&slow[k], most / n_slow & ~(size_t)FM_PAGE_MASK,
			  look_ms);
	n_slow = 0;
}

/* A stride, that is; of what is touched page by page the kernel reads ahead. */
static void note_slow(const struct fm_advised_use *use, unsigned n)
{
	struct fm_krange r;

	if (n != 1 || use->major < fm_tune.streams_few ||
	    use->major * 3 < use->faults)
		return;
	for (unsigned i = 0; i < FM_STREAMS; i++)
		if (is_one(&set.s[i]) && range_of(&set.s[i], &r) &&
		    fm_readahead_bytes(r.dev) <= fm_tune.streams_shallow)
			set.s[i].slow = true;
}

/* Every second fault of a backward stream waits for a small read, and nearly
 * every one of a stride. One that runs forward and seldom waits, or beside
 * others, is the kernel's: it reads ahead of it as well as we would. */
static bool streams_waits(const struct fm_advised_use *use,
			  const struct fm_stream *s, unsigned n)
{
	if (use->major < fm_tune.streams_few ||
	    use->bytes / use->major > fm_tune.streams_small_read)
		return false;
	if (s->step < 0)
		return use->major * 3 >= use->faults;
	return n == 1 && use->major * 4 >= use->faults * 3;
}

/* It is tried, and better so: the device may be later than is known. */
static void ask_again(const struct fm_stream *s, const struct fm_krange *r)
{
	const uintptr_t pos = streams_bytes_of((uint64_t)s->pos);

	if (!fm_device_is_known(r->dev))
		fm_first_read_for(r->dev, (struct fm_fetch_run){ pos, r->end },
				  fm_readahead_bytes(r->dev));
}

/* Of one that goes forward page by page: the kernel reads ahead of it, but may
 * be too late. */
static bool is_faster(unsigned i)
{
	struct fm_stream *s = &set.s[i];
	struct fm_krange r;
	enum fm_late late;
	bool helps;

	if (s->step != 1 || !range_of(s, &r))
		return false;
	late = fm_readahead_late(r.dev);
	if (late != FM_LATE_MAYBE)
		return late == FM_LATE_MOSTLY;
	helps = fm_pace_helps(&pace[i], streams_come(s), set.clock);
	if (pace[i].state == FM_PACE_BETTER)
		ask_again(s, &r);
	return helps;
}

/* Is it to be read ahead for? n: of this look. */
static bool streams_wants_help(const struct fm_advised_use *use, unsigned i,
			       unsigned n)
{
	if (set.s[i].step == 1)
		return is_faster(i) || streams_waits(use, &set.s[i], n);
	return set.s[i].helped || streams_waits(use, &set.s[i], n);
}

/* Is [lo, hi) before pos, not farther than that? */
static bool is_before(int64_t pos, int64_t step, uintptr_t far, uintptr_t lo,
		      uintptr_t hi)
{
	const uintptr_t at = streams_bytes_of((uint64_t)pos);

	return step > 0 ? hi > at && lo < at + far : lo <= at && hi + far > at;
}

bool fm_streams_reach(uint32_t id, uintptr_t lo, uintptr_t hi)
{
	for (unsigned i = 0; i < FM_STREAMS; i++) {
		const struct fm_stream *s = &set.s[i];

		if (s->who == id && streams_wants_huge(s) &&
		    is_before(s->pos, s->step, fm_tune.streams_reach, lo, hi))
			return true;
	}
	return false;
}

/* The further it has come, the further it will be at the next look. */
static uintptr_t reach(const struct fm_stream *s)
{
	return 4 * streams_come(s) > fm_tune.streams_reach
		       ? 4 * streams_come(s)
		       : fm_tune.streams_reach;
}

/* A row whose direction is not known comes both ways. */
static bool row_comes(const struct fm_seen *r, uint32_t id, uintptr_t lo,
		      uintptr_t hi)
{
	const struct fm_sight how = streams_sight();

	return r->who == id && !fm_detect_find(&set, r, &how) &&
	       (is_before(r->hi, 1, fm_tune.streams_reach, lo, hi) ||
		is_before(r->lo, -1, fm_tune.streams_reach, lo, hi));
}

static bool any_row_comes(uint32_t id, uintptr_t lo, uintptr_t hi)
{
	const struct fm_sight how = streams_sight();

	for (unsigned i = 0; i < n_rows; i++)
		if (row_comes(&rows[i], id, lo, hi))
			return true;
	for (unsigned i = 0; i < FM_RECENT; i++)
		if (fm_detect_lately(&set, &set.recent[i], &how) &&
		    row_comes(&set.recent[i], id, lo, hi))
			return true;
	return false;
}

bool fm_streams_come(uint32_t id, uintptr_t lo, uintptr_t hi)
{
	for (unsigned i = 0; i < FM_STREAMS; i++) {
		const struct fm_stream *s = &set.s[i];

		if (s->live && s->who == id &&
		    is_before(s->pos, s->step, reach(s), lo, hi))
			return true;
	}
	return any_row_comes(id, lo, hi);
}

/* Bytes that are nobody's, as last asked. */
static uint64_t streams_free(void)
{
	static uint64_t next_ms, bytes;
	const uint64_t now = fm_now_ms();

	if (now >= next_ms) {
		bytes = fm_memory_free("");
		next_ms = now + fm_tune.streams_pace_ms;
	}
	return bytes;
}

/* Bytes that all streams may have ahead whose part of memory is that: more
 * where nothing leaves for it. */
static size_t streams_most(uint64_t part, uint64_t memory)
{
	const uint64_t room = fm_least(streams_free(), memory) / 2;

	return part > room ? part : room;
}

void fm_streams_ahead(const struct fm_advised_use *use, uint64_t memory,
		      bool huge)
{
	const uint64_t begin = fm_cpu_ns() / 1000;
	const uint64_t part = memory / fm_tune.streams_share;
	unsigned n;
	size_t most;

	end_look();
	n = how_many(is_one);
	most = streams_most(part, memory) / (n ? n : 1);
	until_ms = fm_now_ms() + fm_tune.advise_turn_ms;
	/* Two pieces, as many as a fault reads. A look without a step is no
	 * reason. */
	room_for_huge = part / (n ? n : 1) >= 2 * FM_HUGE;
	note_slow(use, n);
	fm_pull_forget();
	most &= ~(size_t)FM_PAGE_MASK;
	read_slow_rows(most, use->ms);
	for (unsigned i = 0; i < FM_STREAMS && most >= FM_WILLNEED_BYTES; i++)
		if (is_one(&set.s[i]) &&
		    !(huge && set.s[i].step != 1 &&
		      streams_wants_huge(&set.s[i])) &&
		    streams_wants_help(use, i, n))
			read_ahead(&set.s[i], most, use->ms, huge);
	atomic_fetch_add(&fm_streams_counts.bytes, fm_pull_take());
	atomic_fetch_add(&fm_streams_counts.cpu_us,
			 fm_cpu_ns() / 1000 - begin);
}

/* ---- what they have passed ---------------------------------------------- */

#define PIECE ((size_t)2 << 20) /* size: of 2 MiB, as huge pages are */

static bool streams_is_short(uint64_t memory)
{
	return streams_free() < memory / fm_tune.streams_short;
}

/* The bits that say that it has been touched are cleared: it leaves when the
 * kernel comes to it for the first time, unless somebody touches it again. What
 * lies there by then may be another's: it loses nothing else. */
static bool cool(const struct fm_stream *s, uintptr_t at)
{
	if (fm_now_ms() >= until_ms)
		return false;
	if (fm_krange_has(s->who, at, at + PIECE) &&
	    !fm_sys_madvise((void *)at, PIECE, MADV_COLD))
		atomic_fetch_add(&fm_streams_counts.cold_bytes, PIECE);
	return true;
}

static void cool_trail(struct fm_stream *s, size_t lag)
{
	const uintptr_t pos = streams_bytes_of((uint64_t)s->pos);
	uintptr_t at = streams_bytes_of((uint64_t)s->behind);

	if (s->step > 0) {
		at = (at + PIECE - 1) & ~(PIECE - 1);
		while (at + PIECE + lag <= pos + FM_PAGE && cool(s, at))
			at += PIECE;
	} else {
		at &= ~(PIECE - 1);
		while (at >= pos + lag + PIECE && cool(s, at - PIECE))
			at -= PIECE;
	}
	s->behind = (int64_t)(at >> FM_PAGE_SHIFT);
}

void fm_streams_behind(uint64_t files, uint64_t memory)
{
	const uint64_t begin = fm_cpu_ns() / 1000;
	const size_t lag =
		fm_least(fm_tune.streams_lag, memory / fm_tune.streams_share);

	if (files <= memory || !how_many(streams_is_sure) ||
	    !streams_is_short(memory))
		return;
	until_ms = fm_now_ms() + fm_tune.advise_turn_ms;
	for (unsigned i = 0; i < FM_STREAMS; i++)
		if (streams_is_sure(&set.s[i]))
			cool_trail(&set.s[i], lag);
	atomic_fetch_add(&fm_streams_counts.cpu_us,
			 fm_cpu_ns() / 1000 - begin);
}
