/* SPDX-License-Identifier: MIT */
#include "streams.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>

#include "area.h"
#include "base/sys.h"
#include "base/types.h"
#include "krange.h"
#include "memory.h"
#include "readahead/readahead.h"
#include "tunables.h"

#define STREAMS 16

struct stream {
	uint32_t id;
	int direction;       /* 1, -1; 0: not known */
	unsigned steps;
	bool moved;          /* in this look */
	bool ahead;          /* it is read for */
	bool slow;           /* every third fault has waited */
	uintptr_t lo, hi;    /* touched in the look before, */
	uintptr_t look_lo, look_hi; /* and in this, if it was seen */
	bool seen;
	uintptr_t asked;     /* up to where */
	uintptr_t least, most; /* of the range */
	uintptr_t from;      /* where it began to go this way */
	uintptr_t cooled;    /* of what it has passed; 0: nothing yet */
	dev_t dev;
	uint64_t at_ms;
};

struct fm_streams_counts fm_streams_counts;

static struct stream streams[STREAMS];

/* ---- which there are --------------------------------------------------- */

static bool is_near(const struct stream *s, const struct fm_row *r)
{
	const uintptr_t lo = s->seen && s->look_lo < s->lo ? s->look_lo : s->lo;
	const uintptr_t hi = s->seen && s->look_hi > s->hi ? s->look_hi : s->hi;

	return s->id == r->id && r->start <= hi + fm_tune.streams_near &&
	       r->end + fm_tune.streams_near >= lo;
}

static struct stream *oldest(void)
{
	struct stream *s = streams;

	for (unsigned i = 1; i < STREAMS; i++)
		if (streams[i].at_ms < s->at_ms)
			s = &streams[i];
	return s;
}

static void set_direction(struct stream *s, int direction)
{
	if (s->direction == direction)
		return;
	s->direction = direction;
	s->from = direction > 0 ? s->lo : s->hi;
	s->steps = 0;
	s->ahead = s->slow = false;
	s->cooled = 0;
}

/* Rows of a look come in any order: which way it went is known at its end. */
static void move(struct stream *s, const struct fm_row *r)
{
	s->at_ms = fm_now_ms();
	s->dev = r->dev;
	s->least = r->least;
	s->most = r->most;
	s->look_lo = s->seen && s->look_lo < r->start ? s->look_lo : r->start;
	s->look_hi = s->seen && s->look_hi > r->end ? s->look_hi : r->end;
	s->seen = true;
}

static void settle(struct stream *s)
{
	const bool up = s->look_hi > s->hi, down = s->look_lo < s->lo;

	if (!s->seen)
		return;
	s->seen = false;
	if (up != down) {
		set_direction(s, up ? 1 : -1);
		s->steps++;
		s->moved = true;
	}
	if (up || down) {
		s->lo = s->look_lo;
		s->hi = s->look_hi;
	}
}

/* How far it has come this way. */
static uintptr_t come(const struct stream *s)
{
	return s->direction > 0 ? s->hi - s->from : s->from - s->lo;
}

static bool is_sure(const struct stream *s)
{
	if (s->steps < fm_tune.streams_steps)
		return false;
	return come(s) >= fm_tune.streams_sure;
}

void fm_streams_touched(const struct fm_row *r)
{
	const size_t least =
		r->slow ? fm_tune.streams_least_slow : fm_tune.streams_least;
	struct stream *s;

	for (unsigned i = 0; i < STREAMS; i++) {
		if (is_near(&streams[i], r) &&
		    (r->end - r->start >= least || is_sure(&streams[i]))) {
			move(&streams[i], r);
			return;
		}
	}
	if (r->end - r->start < least)
		return;
	s = oldest();
	*s = (struct stream){ .id = r->id, .lo = r->start, .hi = r->end,
			      .least = r->least, .most = r->most,
			      .dev = r->dev, .at_ms = fm_now_ms() };
}

/* ---- what they will want ----------------------------------------------- */

static uint64_t until_ms;

/* Bytes ahead of it, so that the device is busy until the next look. */
static size_t window(const struct stream *s, size_t piece, size_t most,
		     uint64_t look_ms)
{
	const unsigned n = fm_fetch_depth(s->dev, piece >> FM_PAGE_SHIFT,
					  look_ms);
	const uint64_t bytes = fm_ahead_earned(come(s), n * piece);

	return fm_least(most, bytes > piece ? bytes : piece);
}

/* What is not asked for yet of so many bytes before it. */
static struct fm_fetch_run wanted(struct stream *s, size_t bytes)
{
	const bool up = s->direction > 0;

	if (!s->ahead || (up ? s->asked < s->hi : s->asked > s->lo))
		s->asked = up ? s->hi : s->lo;
	if (up)
		return (struct fm_fetch_run){ s->asked, fm_least(s->hi + bytes,
								 s->most) };
	return (struct fm_fetch_run){
		s->lo - fm_least(bytes, s->lo - s->least), s->asked };
}

/* Whatever lies there by now: this changes nothing of it. So it is asked
 * without the lock that the program's munmap waits for. */
static void read_ahead(struct stream *s, size_t most, uint64_t look_ms)
{
	struct fm_fetch_run r;
	struct fm_fetch f;

	fm_fetch_begin(&f, -1, s->dev, false);
	f.down = s->direction < 0;
	f.until_ms = until_ms;
	r = wanted(s, window(s, f.piece, most, look_ms));
	s->ahead = true;
	if (r.start >= r.end || !fm_krange_has(s->id, r.start, r.end))
		return;
	fm_fetch_run(&f, &r, fm_tune.advise_turn_ms);
	s->asked = f.down ? r.end : r.start;
	atomic_fetch_add(&fm_streams_counts.bytes, f.asked);
}

static bool is_one(const struct stream *s)
{
	return s->moved && s->direction && s->steps >= fm_tune.streams_steps;
}

static unsigned how_many(bool (*is)(const struct stream *s))
{
	unsigned n = 0;

	for (unsigned i = 0; i < STREAMS; i++)
		n += is(&streams[i]);
	return n;
}

/* A stride, that is; of what is touched page by page the kernel reads ahead. */
static void note_slow(const struct fm_area_use *use, unsigned n)
{
	if (n != 1 || use->major < fm_tune.streams_few ||
	    use->major * 3 < use->faults)
		return;
	for (unsigned i = 0; i < STREAMS; i++)
		streams[i].slow |= is_one(&streams[i]);
}

static void forget_old(void)
{
	const uint64_t now = fm_now_ms();

	for (unsigned i = 0; i < STREAMS; i++) {
		streams[i].moved = false;
		if (streams[i].id &&
		    streams[i].at_ms + fm_tune.streams_forget_ms < now)
			streams[i] = (struct stream){ 0 };
	}
}

/* Every second fault of a backward stream waits for a small read, and nearly
 * every one of a stride. One that runs forward and seldom waits, or beside
 * others, is the kernel's: it reads ahead of it as well as we would. */
static bool waits(const struct fm_area_use *use, const struct stream *s,
		  unsigned n)
{
	if (use->major < fm_tune.streams_few ||
	    use->bytes / use->major > fm_tune.streams_small_read)
		return false;
	if (s->direction < 0)
		return use->major * 3 >= use->faults;
	return n == 1 && use->major * 4 >= use->faults * 3;
}

static bool room_for_huge;

static bool wants_huge(const struct stream *s)
{
	return room_for_huge && is_sure(s) &&
	       (s->direction < 0 ||
		(s->slow &&
		 fm_readahead_bytes(s->dev) <= fm_tune.streams_shallow));
}

bool fm_streams_reach(uint32_t id, uintptr_t lo, uintptr_t hi)
{
	for (unsigned i = 0; i < STREAMS; i++) {
		const struct stream *s = &streams[i];
		const uintptr_t up =
			s->direction > 0 ? fm_tune.streams_reach : 0;
		const uintptr_t down =
			s->direction > 0 ? 0 : fm_tune.streams_reach;

		if (s->id == id && lo < s->hi + up && hi + down > s->lo &&
		    wants_huge(s))
			return true;
	}
	return false;
}

/* The further it has come, the further it will be at the next look. */
static uintptr_t reach(const struct stream *s, int direction)
{
	if (!s->direction)
		return fm_tune.streams_reach;
	if (s->direction != direction)
		return 0;
	return 4 * come(s) > fm_tune.streams_reach ? 4 * come(s) :
						     fm_tune.streams_reach;
}

bool fm_streams_come(uint32_t id, uintptr_t lo, uintptr_t hi)
{
	for (unsigned i = 0; i < STREAMS; i++) {
		const struct stream *s = &streams[i];

		if (s->id == id && lo < s->hi + reach(s, 1) &&
		    hi + reach(s, -1) > s->lo)
			return true;
	}
	return false;
}

void fm_streams_over(void)
{
	memset(streams, 0, sizeof(streams));
}

void fm_streams_ahead(const struct fm_area_use *use, uint64_t memory,
		      bool huge)
{
	const uint64_t begin = fm_cpu_ns() / 1000;
	unsigned n;
	size_t most;

	for (unsigned i = 0; i < STREAMS; i++)
		settle(&streams[i]);
	n = how_many(is_one);
	most = n ? memory / fm_tune.streams_share / n : 0;
	until_ms = fm_now_ms() + fm_tune.advise_turn_ms;
	/* A look without a step is no reason. */
	room_for_huge = memory / fm_tune.streams_share / (n ? n : 1) >=
			fm_tune.streams_huge_room;
	note_slow(use, n);
	most &= ~(size_t)FM_PAGE_MASK;
	for (unsigned i = 0; i < STREAMS && most >= FM_WILLNEED_BYTES; i++)
		if (is_one(&streams[i]) &&
		    !(huge && wants_huge(&streams[i])) &&
		    (streams[i].ahead || waits(use, &streams[i], n)))
			read_ahead(&streams[i], most, use->ms);
	forget_old();
	atomic_fetch_add(&fm_streams_counts.cpu_us,
			 fm_cpu_ns() / 1000 - begin);
}

/* ---- what they have passed ---------------------------------------------- */

#define PIECE ((size_t)2 << 20) /* size: of 2 MiB, as huge pages are */

static bool is_short(uint64_t memory)
{
	static uint64_t next_ms;
	static bool was;
	const uint64_t now = fm_now_ms();

	if (now >= next_ms) {
		was = fm_memory_free("") < memory / fm_tune.streams_short;
		next_ms = now + fm_tune.streams_anew_ms;
	}
	return was;
}

/* The bits that say that it has been touched are cleared: it leaves when the
 * kernel comes to it for the first time, unless somebody touches it again. What
 * lies there by then may be another's: it loses nothing else. */
static bool cool(const struct stream *s, uintptr_t at)
{
	if (fm_now_ms() >= until_ms)
		return false;
	if (fm_krange_has(s->id, at, at + PIECE) &&
	    !fm_sys_madvise((void *)at, PIECE, MADV_COLD))
		atomic_fetch_add(&fm_streams_counts.cold_bytes, PIECE);
	return true;
}

static void cool_trail(struct stream *s, size_t lag)
{
	const bool up = s->direction > 0;

	if (!s->cooled)
		s->cooled = (s->from + (up ? PIECE - 1 : 0)) & ~(PIECE - 1);
	while (up && s->cooled + PIECE + lag <= s->hi && cool(s, s->cooled))
		s->cooled += PIECE;
	while (!up && s->cooled >= s->lo + lag + PIECE &&
	       cool(s, s->cooled - PIECE))
		s->cooled -= PIECE;
}

void fm_streams_behind(uint64_t files, uint64_t memory)
{
	const uint64_t begin = fm_cpu_ns() / 1000;
	const size_t lag =
		fm_least(fm_tune.streams_lag, memory / fm_tune.streams_lags);

	if (files <= memory || !how_many(is_sure) || !is_short(memory))
		return;
	until_ms = fm_now_ms() + fm_tune.advise_turn_ms;
	for (unsigned i = 0; i < STREAMS; i++)
		if (is_sure(&streams[i]))
			cool_trail(&streams[i], lag);
	atomic_fetch_add(&fm_streams_counts.cpu_us,
			 fm_cpu_ns() / 1000 - begin);
}
