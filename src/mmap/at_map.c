/* SPDX-License-Identifier: MIT */
#include "at_map.h"

#include "advise/advise.h"
#include "base/extents.h"
#include "base/life.h"
#include "base/sys.h"
#include "cache/cache.h"
#include "engine.h"
#include "file/file.h"
#include "io/io.h"
#include "memory.h"
#include "pagecache_probe.h"
#include "peers/peers.h"
#include "policy.h"
#include "readahead/readahead.h"
#include "serve/serve.h"
#include "server_choice.h"
#include "tunables.h"

#define BLOCK 512u /* unit: of st_blocks */
#define TOLD_LEAST 1000000u /* unit: ns, that are worth a note */

/* Nobody has said who is to have it. */
static bool at_map_is_open(const struct fm_policy *p)
{
	return p->serve == FM_SERVE_AUTO && p->warm == FM_WARM_AUTO;
}

/* A part says nothing of what else of the file is going to be mapped. */
static bool is_whole(uint64_t size, uint64_t off, uint64_t len)
{
	return off < size && fm_least(size - off, len) >=
				     size - size / fm_tune.serve_nearly;
}

/* A database in the making: it is mapped beyond its end, or has few of its
 * blocks yet. */
static bool is_to_grow(const struct stat *st, uint64_t off, uint64_t len)
{
	const uint64_t size = (uint64_t)st->st_size;

	return off + len > size + fm_tune.pagecache_probe_grows ||
	       (uint64_t)st->st_blocks * BLOCK <
		       size - size / fm_tune.serve_nearly;
}

struct written {
	uint64_t start, end; /* bytes of the file */
	uint64_t left; /* of what may have been written there */
};

/* Room that has been made, and never been written to, is as good as a hole. */
static bool is_too_much(const struct fiemap_extent *e, void *arg)
{
	struct written *w = arg;
	const uint64_t end = fm_least(e->fe_logical + e->fe_length, w->end);
	const uint64_t n = end - (e->fe_logical > w->start ? e->fe_logical :
							     w->start);

	if (e->fe_flags & FIEMAP_EXTENT_UNWRITTEN)
		return false;
	if (n > w->left)
		return true;
	w->left -= n;
	return false;
}

/* A look that began at from_ns takes a hundredth of the time, no more. 0: it
 * is not worth a note. */
static uint64_t told_until(uint64_t from_ns)
{
	const uint64_t now = fm_now_ns();
	const uint64_t hold = (now - from_ns) * fm_tune.helper_share;

	return hold < TOLD_LEAST ? 0 : now + hold;
}

/* Bytes that are not holes. What is compressed has fewer blocks than that. */
static uint64_t look_at_written(const struct fm_mmap_request *q)
{
	const uint64_t size = (uint64_t)q->st.st_size;
	struct written w = { 0, size, size };

	return fm_extents_find(q->fd, 0, size, (int)fm_tune.reflink_looks,
			       is_too_much, &w) ? size : size - w.left;
}

/* These have to be read, or kept. One look is the answer to all that ask for
 * this mapping, and to who maps the file over and over for a while. */
uint64_t fm_at_map_written(const struct fm_mmap_request *q)
{
	const uint64_t size = (uint64_t)q->st.st_size, from = fm_now_ns();
	struct fm_maps *m;
	uint64_t written, until;

	if (!fm_is_sparse(&q->st) || !fm_sys_may_ask())
		return size;
	m = fm_serve_maps(q->st.st_dev, q->st.st_ino, true);
	if (m && from < m->written_until_ns)
		return fm_least(m->written, size);
	written = look_at_written(q);
	if (m) {
		m->written = written;
		until = told_until(from);
		m->written_until_ns = until ? until : from + TOLD_LEAST;
	}
	return written;
}

/* Is it the kernel's on a common disk, but not where a read takes long? Where
 * that is not known yet it is found out. */
static uint32_t start_costs(const struct fm_mmap_request *q, uint64_t bytes)
{
	const dev_t dev = q->st.st_dev;
	const uint32_t usual = fm_cost_start(bytes, 0, 0);
	uint64_t ahead;
	uint32_t late;
	bool told;

	if (!fm_cost_counts(usual) || fm_settings()->mode != FM_MODE_ON)
		return usual;
	told = fm_device_has_told(dev);
	ahead = fm_readahead_known(dev);
	late = fm_cost_start(bytes, ahead,
			     told ? fm_device_late_ns(dev) :
				    fm_tune.first_read_late_ns);
	return !fm_cost_counts(late) &&
			       (told ||
				fm_first_read_is_late(q->fd, &q->st,
						      (uint64_t)q->off, ahead))
		       ? late
		       : usual;
}

/* The engine would start for this one. */
static void of_start(const struct fm_mmap_request *q, struct fm_cost_facts *c)
{
	const uint64_t size = (uint64_t)q->st.st_size, off = (uint64_t)q->off;

	if (!fm_life_running() && at_map_is_open(q->policy) &&
	    is_whole(size, off, q->len) &&
	    !(q->maywrite && is_to_grow(&q->st, off, q->len)))
		c->start = start_costs(q, fm_krange_bytes() +
				fm_least(q->len, fm_at_map_written(q)));
}

static void of_maps(const struct fm_mmap_request *q, struct fm_cost_facts *c)
{
	const dev_t dev = q->st.st_dev;
	const struct fm_maps *m = fm_serve_maps(dev, q->st.st_ino, false);
	const struct fm_maps *alike = fm_serve_alike(dev, q->len, false);

	if ((m || alike) && at_map_is_open(q->policy))
		c->maps = fm_maps_cost(m, alike, q->len, fm_now_ns());
}

static struct fm_maps *maps_if(const struct fm_mmap_request *q, bool noted)
{
	return noted ? fm_serve_maps(q->st.st_dev, q->st.st_ino, true) : NULL;
}

static uint32_t holes_cost(const struct fm_mmap_request *q)
{
	const dev_t dev = q->st.st_dev;
	const struct fm_hole_price p = {
		.room = fm_device_room_ns(fm_device_of(dev)),
		.read = fm_device_price(dev).read,
	};
	const uint64_t most = fm_cost_holes_end(q->len, &p);
	struct written w = { (uint64_t)q->off, (uint64_t)q->off + q->len,
			     most };

	return fm_extents_find(q->fd, w.start, w.end,
			       (int)fm_tune.reflink_looks, is_too_much, &w) ?
		       0 : fm_cost_holes(q->len, most - w.left, &p);
}

/* A database in the making, an array, a temporary file. A file system that does
 * not say where blocks are may not say either how many (FUSE). To look at many
 * extents takes as long as some mappings: who maps the file over and over is
 * told the same for a while. */
static void of_holes(const struct fm_mmap_request *q, struct fm_cost_facts *c)
{
	const uint64_t from = fm_now_ns();
	struct fm_maps *m;
	uint64_t until;

	if (!q->shared || !q->maywrite || !at_map_is_open(q->policy) ||
	    !fm_sys_may_ask())
		return;
	m = fm_serve_maps(q->st.st_dev, q->st.st_ino, false);
	if (m && from < m->holes_until_ns) {
		c->holes = m->holes;
		return;
	}
	c->holes = holes_cost(q);
	until = told_until(from);
	m = maps_if(q, until);
	if (m) {
		m->holes = c->holes;
		m->holes_until_ns = until;
	}
}

/* Who only reads may have a lease, which tells at once who else stores. */
static void of_peers(const struct fm_mmap_request *q, struct fm_cost_facts *c)
{
	if (q->shared && q->maywrite && q->len <= fm_tune.serve_window)
		c->peers = fm_peers_cost();
}

/* To look at all of a file that is cached takes a millisecond for each 100 MiB.
 * Who maps it over and over is told the same for a while. */
static bool was_cached(const struct fm_mmap_request *q, uint64_t now_ns)
{
	const struct fm_maps *m =
		fm_serve_maps(q->st.st_dev, q->st.st_ino, false);

	return m && now_ns < m->cached_until_ns;
}

static void note_cached(const struct fm_mmap_request *q, uint64_t from_ns)
{
	const uint64_t until = told_until(from_ns);
	struct fm_maps *m = maps_if(q, until);

	if (m)
		m->cached_until_ns = until;
}

static void of_cache(const struct fm_mmap_request *q, struct fm_cost_facts *c)
{
	const uint64_t off = (uint64_t)q->off, now = fm_now_ns();
	const bool whole = at_map_is_open(q->policy) &&
			   is_whole((uint64_t)q->st.st_size, off, q->len);

	c->cached = whole && was_cached(q, now);
	if (c->cached)
		return;
	c->cached =
		fm_pagecache_enough(q->fd, &q->st, off, q->len, q->policy);
	if (whole && c->cached)
		note_cached(q, now);
}

/* ---- memory ------------------------------------------------------------- */

static uint64_t engines(void)
{
	struct fm_file *f;
	uint64_t sum = 0;

	fm_for_each_file(f, id)
		if (atomic_load(&f->maps) && !fm_kernel_serves(f))
			sum += (uint64_t)fm_file_size(f);
	return sum;
}

/* Pages of the program's own, of a private mapping, need memory twice. What is
 * short, of all that this process may use, is no more than half a
 * reserve, or than the half of what is mapped. */
static bool may_only_fit(const struct fm_mmap_request *q)
{
	const uint64_t size = (uint64_t)q->st.st_size, off = (uint64_t)q->off;

	return (q->shared || !(q->prot & PROT_WRITE)) &&
	       at_map_is_open(q->policy) && fm_settings()->cache.automatic &&
	       is_whole(size, off, q->len) &&
	       !(q->maywrite && is_to_grow(&q->st, off, q->len)) &&
	       size >= fm_memory_limit() / fm_tune.budget_reserve / 2;
}

/* The cache begins with half of what others leave (budget.c): the other half is
 * for who takes memory at once. Of many files the first are the engine's before
 * it is known that the rest is coming. It keeps them, and gets the rest, unless
 * this one is larger. What costs least is asked first: nearly all files are
 * smaller. Of what does not fit both would hold as much in the end: who has
 * less to do for that is seen while it runs. */
static void of_memory(const struct fm_mmap_request *q, struct fm_cost_facts *c)
{
	uint64_t size, left, others;

	if (!may_only_fit(q))
		return;
	size = fm_at_map_written(q);
	left = fm_memory_left_lately();
	others = engines();
	if (left == UINT64_MAX || size < others)
		return;
	c->memory = left + fm_cache_resident() * FM_PAGE;
	c->cache = fm_least(fm_cache_bytes(&fm_settings()->cache),
			    c->memory / 2);
	c->engines = size + others;
	c->all = c->engines + fm_krange_in_use();
	if (!fm_cost_fits(c))
		c->memory = UINT64_MAX;
}

static const struct {
	enum fm_server_reason why;
	void (*add)(const struct fm_mmap_request *q, struct fm_cost_facts *c);
} terms[] = {
	{ FM_WHY_REMAPPED, of_maps },
	{ FM_WHY_MANY_PEERS, of_peers },
	{ FM_WHY_CACHED, of_cache },
	{ FM_WHY_HOLES, of_holes },
	{ FM_WHY_START, of_start },
	{ FM_WHY_FITS, of_memory },
};

enum fm_server_reason fm_at_map(const struct fm_mmap_request *q)
{
	struct fm_cost_facts facts = { .memory = UINT64_MAX };

	for (unsigned i = 0; i < sizeof(terms) / sizeof(*terms); i++) {
		struct fm_costs c;

		terms[i].add(q, &facts);
		c = fm_cost(&facts);
		if (fm_cost_kernel_less(&c))
			return terms[i].why;
	}
	return FM_WHY_NONE;
}
