/* SPDX-License-Identifier: MIT */
#include "fetch.h"

#include <errno.h>
#include <fcntl.h>

#include "base/sys.h"
#include "base/thread.h"
#include "cache/cache.h"
#include "chunk.h"
#include "io/io.h"
#include "kernel_ahead.h"
#include "map/map.h"
#include "memory.h"
#include "tunables.h"

#define PAUSE_MS 1u /* unit: between two looks whether a piece has come */

/* As much as any read of ours, but no more than the kernel reads of one call.
 * In order pieces of this length cost a fast device what short ones do. */
static size_t piece_of(dev_t dev)
{
	const uint64_t most = fm_readahead_known(dev);

	return most < FM_WILLNEED_BYTES ? FM_WILLNEED_BYTES :
					  fm_least(most, FM_HUGE);
}

unsigned fm_fetch_depth(dev_t dev, uint64_t pages, uint64_t late_ms)
{
	const uint64_t n = fm_device_depth(fm_device_of(dev), pages,
					   late_ms * 1000000);

	return (unsigned)fm_least(n, FM_FETCH_MOST);
}

void fm_fetch_begin(struct fm_fetch *f, int fd, dev_t dev, bool beside)
{
	*f = (struct fm_fetch){ .fd = fd, .piece = piece_of(dev) };
	if (beside)
		f->most = fm_fetch_depth(dev, f->piece >> FM_PAGE_SHIFT,
					 PAUSE_MS);
}

/* ---- whether more may come --------------------------------------------- */

bool fm_fetch_fits(uint64_t bytes)
{
	return fm_memory_free("") > fm_memory_left("") / 16 + bytes;
}

static bool is_room(struct fm_fetch *f)
{
	if (f->room == FM_FETCH_KNOWN || f->asked < f->look)
		return true;
	fm_thread_sleep_ms(PAUSE_MS); /* and do what all threads are told to */
	f->full = !fm_fetch_fits(fm_tune.fetch_look) &&
		  (f->room == FM_FETCH_FREE ||
		   f->asked >= fm_memory_left("") / 2);
	if (!f->full)
		f->look = f->asked + fm_tune.fetch_look;
	return !f->full;
}

/* Where the kernel does not tell a piece has come. */
static bool too_many(const struct fm_fetch *f)
{
	const unsigned k = (f->pieces - f->most) % FM_FETCH_MOST;

	return f->most && f->fd < 0 && f->pieces >= f->most && f->last[k] &&
	       !fm_in_memory(f->last[k]);
}

/* ---- one piece --------------------------------------------------------- */

static void fetch_ask(struct fm_fetch *f, uint64_t start, size_t n)
{
	if (f->fd >= 0)
		fm_sys4(SYS_fadvise64, f->fd, (long)start, (long)n,
			POSIX_FADV_WILLNEED);
	else
		fm_sys_madvise((void *)start, n, MADV_WILLNEED);
	f->last[f->pieces++ % FM_FETCH_MOST] = (start + n - 1) & ~FM_PAGE_MASK;
	f->asked += n;
	f->since_ms = 0;
}

static void ask_next(struct fm_fetch *f, struct fm_fetch_run *r)
{
	const size_t n = fm_least(r->end - r->start, f->piece);

	if (f->down)
		r->end -= n;
	fetch_ask(f, f->down ? r->end : r->start, n);
	if (!f->down)
		r->start += n;
}

/* A piece that has not come for so long may never. */
static void fetch_wait_for_one(struct fm_fetch *f, uint64_t now)
{
	if (!f->since_ms)
		f->since_ms = now;
	if ((double)(now - f->since_ms) * 1e6 < fm_tune.device_longest_ns)
		fm_thread_sleep_ms(PAUSE_MS);
	else
		f->last[(f->pieces - f->most) % FM_FETCH_MOST] = 0;
}

bool fm_fetch_run(struct fm_fetch *f, struct fm_fetch_run *r, uint64_t ms)
{
	uint64_t now = fm_now_ms(), until = now + ms;

	if (f->until_ms && f->until_ms < until)
		until = f->until_ms;
	for (; r->start < r->end && now < until; now = fm_now_ms()) {
		if (!is_room(f))
			return true;
		if (too_many(f))
			fetch_wait_for_one(f, now);
		else
			ask_next(f, r);
	}
	return r->start < r->end;
}

/* ---- chunks ------------------------------------------------------------ */

/* Pages from a border of 2 MiB of the address space to page i of m: a chunk
 * ends there, so that whole frames can be moved in. */
static FM_FAULT uint64_t past_border(struct fm_map *m, uint64_t i)
{
	return ((uintptr_t)fm_map_addr(m, i) >> FM_PAGE_SHIFT) % FM_HUGE_PAGES;
}

/* What others have asked for is passed over: it makes room for nobody, least of
 * all for itself. */
static FM_FAULT uint64_t chunk_up(struct fm_map *m, uint64_t i, uint64_t n,
				  bool eager)
{
	uint64_t skip;
	long got;

	n = fm_chunk_uncovered(m, i, n, &skip);
	if (!n)
		return skip;
	got = fm_chunk_read(m, i, n, eager);
	if (got == -EAGAIN)
		return 0;
	/* 0: the first ones are there */
	return got > 0 ? (uint64_t)got : fm_least(n, fm_tune.ahead_gap + 1);
}

/* Past pages that are there already if need be. What comes first to its reader
 * is the end: where no buffer was free for that it is not dealt with. */
static FM_FAULT uint64_t chunk_down(struct fm_map *m, uint64_t i, uint64_t n,
				    bool eager)
{
	uint64_t at = 0, got;

	do {
		got = chunk_up(m, i + at, n - at, eager);
		at += got;
	} while (got && at < n);
	return at == n ? n : 0;
}

FM_FAULT uint64_t fm_fetch_chunk(struct fm_map *m, uint64_t lo, uint64_t hi,
				 unsigned how)
{
	const bool down = how & FM_CHUNK_DOWN, eager = how & FM_CHUNK_EAGER;
	uint64_t n = fm_least(hi - lo, down ? past_border(m, hi - 1) + 1 :
					      FM_HUGE_PAGES -
						      past_border(m, lo));

	/* Small buffers may be all there are. */
	if (how & FM_CHUNK_SMALL || !fm_frame_limit())
		n = fm_least(n, FM_CHUNK_PIECE);
	return down ? chunk_down(m, hi - n, n, eager) :
		      chunk_up(m, lo, n, eager);
}
