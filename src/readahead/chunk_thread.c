/* SPDX-License-Identifier: MIT */
/* chunk_thread.c - the thread that submits and reaps what is read ahead. */
#include "base/epoch.h"
#include "base/event.h"
#include "base/lock.h"
#include "base/thread.h"
#include "chunk_priv.h"
#include "file/file.h"
#include "map/map.h"

#define WANTS 16

struct want {
	uint32_t id, gen;
	uint64_t i, end;
	unsigned vain; /* times in a row that nothing could be asked for */
};

static struct want wants[WANTS];
static struct fm_event bell;
static bool running;

FM_FAULT void fm_chunk_bell(void)
{
	fm_event_raise(&bell);
}

/* What the page cache has is newer or equal, and a direct read would first
 * write what is dirty of it. Holes would fill it, in large folios that on a
 * full disk cannot be stored to. */
static bool asks_cache(const struct fm_chunk *c)
{
	return !c->uncached && !c->file->load.sparse &&
	       fm_load_asks_cache(c->file);
}

static void submit_queued(struct fm_ring *r)
{
	struct fm_io *ios[FM_CHUNKS];
	unsigned n = 0;
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
		ios[n++] = &c->io;
		if (c->uncached)
			continue; /* counted before */
		fm_count(&c->file->st.loads, 1);
		fm_count(&c->file->st.load_bytes, c->io.len);
		fm_count(&c->file->st.ahead_pages, c->n);
	}
	fm_unlock(&fm_chunk_lock);
	if (n)
		fm_ring_submit(r, ios, n);
}

/* Short, and not for the end of the file. */
static bool is_short(const struct fm_chunk *c)
{
	return c->io.res < 0 ||
	       ((uint64_t)c->io.res < c->io.len &&
		c->io.off + (uint64_t)c->io.res <
			(uint64_t)atomic_load(&c->file->size));
}

static void ask_device(struct fm_chunk *c)
{
	c->uncached = true;
	fm_chunk_set_state(c, CH_QUEUED);
	fm_event_raise(&bell); /* this thread's own: it looks again */
}

static void landed(struct fm_chunk *c)
{
	unsigned e = fm_epoch_enter();
	struct fm_map *m = NULL;

	c->io.user = NULL;
	if (c->io.nowait)
		fm_load_asked_cache(c->file, !is_short(c));
	if (c->io.nowait && is_short(c) && !atomic_load(&c->dead)) {
		ask_device(c);
		fm_epoch_leave(e);
		return;
	}
	c->got = fm_load_finish(c->n, c->io.res, c->mem);
	if (c->io.res >= 0 && is_short(c)) /* whole pages only */
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
	}
	fm_epoch_leave(e);
}

static void land_all(void)
{
	for (int k = 0; k < fm_chunk_top(); k++) {
		struct fm_chunk *c = &fm_chunks[k];

		if (atomic_load(&c->state) == CH_INFLIGHT && c->io.user &&
		    c->io.done)
			landed(c);
	}
}

#define STEPS 64 /* of one want; then what has landed is looked at */
#define VAIN 250 /* half a second */

/* Pages from i on that are read already, or in units of the standby list: they
 * come when they are touched. */
static uint64_t in_chunks(struct fm_map *m, uint64_t i, uint64_t n)
{
	uint64_t fp = m->pgoff + i, k = 0;

	while (k < n &&
	       (fm_page_state(fm_file_page(m->file, fp + k)) & FP_AHEAD))
		k++;
	return k;
}

static void feed_want(struct want *w, struct fm_map *m)
{
	for (int k = 0; k < STEPS && w->i < w->end; k++) {
		uint64_t i = w->i, n, edge, skip;
		struct fm_map *now = fm_map_follow(m, &i);
		long got;

		if (!now) {
			w->end = 0; /* unmapped */
			return;
		}
		n = fm_least(w->end - w->i, fm_map_pages(now) - i);
		skip = in_chunks(now, i, n);
		if (skip) {
			w->i += skip;
			continue;
		}
		edge = (uintptr_t)fm_map_addr(now, i) >> FM_PAGE_SHIFT;
		n = fm_least(n, FM_HUGE_PAGES - edge % FM_HUGE_PAGES);
		got = fm_chunk_read(now, i, n, true);
		/* No room, or it is in a chunk already. */
		if (got == -EAGAIN && w->vain++ < VAIN)
			return;
		w->vain = 0;
		w->i += got > 0 ? (uint64_t)got :
				  fm_least(n, FM_CHUNK_SKIP + 1);
	}
}

/* Feed what WILLNEED asked for, as buffers allow. True while any is left. */
static bool feed_wants(void)
{
	bool left = false;

	for (int k = 0; k < WANTS; k++) {
		unsigned e = fm_epoch_enter();
		struct want *w = &wants[k];
		struct fm_map *m = w->i < w->end ?
					   fm_map_by_id(w->id, w->gen) : NULL;

		if (m)
			feed_want(w, m);
		else
			w->end = 0;
		left |= w->i < w->end;
		fm_epoch_leave(e);
	}
	return left;
}

static void *reader(void *arg)
{
	struct fm_ring *r = arg;
	const struct timespec pause = { 0, 2000000 };

	fm_thread_begin("fastmap-ahead");
	for (;;) {
		uint32_t seen = fm_event_seen(&bell);
		bool left = feed_wants();

		submit_queued(r);
		land_all(); /* what was done at submission */
		if (fm_ring_inflight(r)) {
			fm_ring_reap(r);
			land_all();
			continue;
		}
		fm_event_wait_alone(&bell, seen, left ? &pause : NULL);
	}
	return NULL;
}

void fm_chunk_want(struct fm_map *m, uint64_t i, uint64_t n)
{
	uint64_t most = fm_cache_limit() / 2;

	if (!running)
		return;
	fm_lock(&fm_chunk_lock);
	for (int k = 0; k < WANTS; k++)
		if (wants[k].i >= wants[k].end) {
			wants[k] = (struct want){ m->id, atomic_load(&m->gen),
						  i, i + fm_least(n, most), 0 };
			break;
		}
	fm_unlock(&fm_chunk_lock);
	fm_chunk_bell();
}

int fm_chunk_thread_start(void)
{
	struct fm_ring *r = fm_ring_own();
	int err = r ? fm_thread_create(reader, r) : -EMFILE;

	running = err == 0;
	return err;
}

void fm_chunk_thread_reset(void)
{
	running = false;
	for (int k = 0; k < WANTS; k++)
		wants[k].end = 0;
	fm_event_reset(&bell);
}
