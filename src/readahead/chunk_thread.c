/* SPDX-License-Identifier: MIT */
/* chunk_thread.c - the thread that submits and reaps what is read ahead. */
#include <string.h>

#include "base/epoch.h"
#include "base/event.h"
#include "base/life.h"
#include "base/lock.h"
#include "base/thread.h"
#include "base/ticket.h"
#include "chunk_priv.h"
#include "fetch.h"
#include "file/file.h"
#include "map/map.h"
#include "tunables.h"
#include "wants.h"

static bool running;

/* What the page cache has is newer or equal, and a direct read would first
 * write what is dirty of it. Holes would fill it, in large folios that on a
 * full disk cannot be stored to. */
static bool asks_cache(const struct fm_chunk *c)
{
	return !c->uncached && !c->file->load->sparse &&
	       fm_load_asks_cache(c->file);
}

/* As if it had been read, for who looks for what is done. */
static void make_zero(struct fm_io *io)
{
	memset(io->buf, 0, io->len);
	io->res = (int32_t)io->len;
	__atomic_store_n(&io->done, true, __ATOMIC_RELEASE);
}

static void chunk_thread_submit_queued(struct fm_ring *r)
{
	struct fm_chunk *blank[FM_CHUNKS];
	struct fm_io *ios[FM_CHUNKS];
	unsigned n = 0, blanks = 0;
	bool asks, through;

	fm_lock(&fm_chunk_lock);
	for (int k = 0; k < fm_chunk_top(); k++) {
		struct fm_chunk *c = &fm_chunks[k];

		if (atomic_load(&c->state) != CH_QUEUED)
			continue;
		through = fm_load_through_cache(c->file, c->first, c->n);
		asks = !through && asks_cache(c);
		atomic_store(&c->state, CH_INFLIGHT);
		c->io = (struct fm_io){
			.file = c->file,
			.buf = c->mem,
			.off = c->first << FM_PAGE_SHIFT,
			.len = c->n << FM_PAGE_SHIFT,
			.op = FM_READ,
			.buffered = through || asks,
			.nowait = asks,
			.user = c,
		};
		if (fm_heap_blank(c->file, c->first, c->n)) {
			blank[blanks++] = c;
			continue;
		}
		ios[n++] = &c->io;
		if (c->uncached)
			continue; /* counted before */
		fm_count(&c->file->st->loads, 1);
		fm_count(&c->file->st->load_bytes, c->io.len);
		fm_count(&c->file->st->ahead_pages, c->n);
	}
	fm_unlock(&fm_chunk_lock);
	while (blanks)
		make_zero(&blank[--blanks]->io);
	if (n)
		fm_ring_submit(r, ios, n);
}

/* Short, and not for the end of the file. */
static bool chunk_thread_is_short(const struct fm_chunk *c)
{
	return c->io.res < 0 ||
	       ((uint64_t)c->io.res < c->io.len &&
		c->io.off + (uint64_t)c->io.res <
			(uint64_t)atomic_load(&c->file->size));
}

static void chunk_thread_ask_device(struct fm_chunk *c)
{
	c->uncached = true;
	fm_chunk_set_state(c, CH_QUEUED);
	fm_event_raise(&fm_chunk_bell); /* this thread's own: it looks again */
}

static void landed(struct fm_chunk *c)
{
	unsigned e = fm_epoch_enter();
	struct fm_map *m = NULL;

	c->io.user = NULL;
	if (c->io.nowait)
		fm_load_asked_cache(c->file, !chunk_thread_is_short(c));
	if (c->io.nowait && chunk_thread_is_short(c) &&
	    !atomic_load(&c->dead)) {
		chunk_thread_ask_device(c);
		fm_epoch_leave(e);
		return;
	}
	c->got = fm_load_finish(c->n, c->io.res, c->mem);
	if (c->io.res >= 0 && chunk_thread_is_short(c)) /* whole pages only */
		c->got = c->io.res >> FM_PAGE_SHIFT;
	if (c->eager && !atomic_load(&c->dead))
		m = fm_map_by_id(c->map_id, c->map_gen);
	if (m || atomic_load(&c->dead) || c->got <= 0) {
		fm_chunk_set_state(c, CH_TAKING);
		if (m)
			fm_chunk_map(c, m);
		fm_chunk_clear_flags(c->file, c->first, c->n);
		fm_chunk_release(c);
	} else {
		fm_chunk_set_state(c, CH_READY);
		fm_chunk_told(c);
	}
	fm_epoch_leave(e);
}

static void land_all(void)
{
	for (int k = 0; k < fm_chunk_top(); k++) {
		struct fm_chunk *c = &fm_chunks[k];

		if (atomic_load(&c->state) == CH_INFLIGHT && c->io.user &&
		    __atomic_load_n(&c->io.done, __ATOMIC_ACQUIRE))
			landed(c);
	}
}

#define STEPS 64 /* size: of one want; then what has landed is looked at */

/* False: there is no buffer now. */
static bool chunk_thread_read_some(struct fm_want *w, struct fm_map *m,
				   uint64_t i, uint64_t n)
{
	const bool small = w->vain >= fm_tune.chunk_vain;
	const uint64_t got = fm_fetch_chunk(m, i, i + n, FM_CHUNK_EAGER |
					    (small ? FM_CHUNK_SMALL : 0));

	w->vain += !got && w->vain < fm_tune.chunk_vain;
	w->i += got;
	return got;
}

static void feed_want(struct fm_want *w, struct fm_map *m)
{
	for (int k = 0; k < STEPS && w->i < w->end; k++) {
		const uint64_t from = w->i;
		uint64_t i = from, n;
		struct fm_map *at = fm_map_follow(m, &i);

		if (!at) {
			w->end = 0; /* unmapped */
			return;
		}
		n = fm_least(w->end - w->i, fm_map_pages(at) - i);
		if (!chunk_thread_read_some(w, at, i, n))
			return;
		if (!w->tickets)
			continue;
		/* For what has been begun just now, or by others before. */
		fm_chunk_wait_for(at->file, at->pgoff + i,
				  at->pgoff + i + (w->i - from), w->tickets);
	}
}

/* The one that the thread is at. */
static struct fm_want now;
static bool feeds;

static void feed_now(void)
{
	FM_IN_EPOCH();
	struct fm_map *m = fm_map_by_id(now.id, now.gen);

	if (m)
		feed_want(&now, m);
	else
		now.end = 0; /* unmapped */
}

/* Feed what WILLNEED asked for, as buffers allow, each in its turn. True while
 * any is left. */
static bool feed_wants(void)
{
	for (int turn = 0; turn < STEPS; turn++) {
		uint64_t begin;

		if (!feeds && !fm_wants_take(&now))
			return false;
		feeds = true;
		begin = now.i;
		feed_now();
		if (now.i < now.end && now.i == begin)
			return true; /* no buffer */
		if (now.i >= now.end)
			fm_ticket_drop(now.tickets);
		feeds = now.i < now.end && !fm_wants_back(&now);
	}
	return true;
}

static void *reader(void *arg)
{
	struct fm_ring *r = arg;
	const struct timespec pause = { 0, 2000000 };

	fm_thread_begin("fastmap-ahead");
	for (;;) {
		uint32_t seen = fm_event_seen(&fm_chunk_bell);
		bool left = feed_wants();

		fm_thread_obey();
		chunk_thread_submit_queued(r);
		land_all(); /* what was done at submission */
		if (fm_ring_inflight(r)) {
			fm_ring_reap(r);
			land_all();
			continue;
		}
		fm_event_wait_alone(&fm_chunk_bell, seen, left ? &pause : NULL);
	}
	return NULL;
}

void fm_chunk_want(struct fm_map *m, uint64_t i, uint64_t n, uint64_t tickets)
{
	if (running)
		fm_wants_add(m, i, n, tickets);
}

static int chunk_thread_start(void)
{
	struct fm_ring *r;
	int err = fm_chunk_table_start();

	r = err ? NULL : fm_ring_own();
	if (!err)
		err = r ? fm_wants_start() : -EMFILE;
	if (!err)
		fm_ring_set_bell(r, &fm_chunk_bell);
	if (!err)
		err = fm_thread_create(reader, r);
	running = err == 0;
	fm_chunk_use(running);
	return err;
}

static void chunk_thread_reset(void)
{
	fm_chunk_use(false);
	fm_chunk_table_reset();
	running = false;
	feeds = false;
	fm_wants_reset();
	fm_event_reset(&fm_chunk_bell);
}

FM_LIFE(chunk, .level = FM_LIFE_HELPERS, .start = chunk_thread_start,
	.reset = chunk_thread_reset)
