/* SPDX-License-Identifier: MIT */
#include "map.h"

#include <string.h>

#include "alias_index.h"
#include "base/alloc.h"
#include "base/epoch.h"
#include "engine.h"
#include "file/file.h"
#include "space.h"
#include "stream.h"

#define GHOSTS 4096 /* size: of a list of mappings that are gone */

static _Atomic(struct fm_map *) table[FM_MAX_MAPS];
static _Atomic uint8_t gens[FM_MAX_MAPS];
_Atomic uint32_t fm_maps_entered;
static uint32_t free_ids[4096]; /* a few to reuse; else scan onwards */
static uint32_t free_n, next_id;

FM_FAULT struct fm_map *fm_map_by_id(uint32_t id, uint32_t gen)
{
	struct fm_map *m = atomic_load(&table[id & (FM_MAX_MAPS - 1)]);

	return m && atomic_load(&m->gen) == gen ? m : NULL;
}

FM_FAULT bool fm_map_current(struct fm_map *m, uint64_t i)
{
	uintptr_t a = (uintptr_t)fm_map_addr(m, i);
	struct fm_map *now = fm_space_find(a);

	return now == m ||
	       (now && &now->mode[(a - atomic_load(&now->start)) >>
				  FM_PAGE_SHIFT] == &m->mode[i]);
}

FM_FAULT struct fm_map *fm_map_follow(struct fm_map *m, uint64_t *i)
{
	uintptr_t a = (uintptr_t)fm_map_addr(m, *i);
	struct fm_map *now = *i < m->modes->pages - m->mbase ?
				     fm_space_find(a) : NULL;
	uint64_t k;

	if (now == m || !now || now->modes != m->modes)
		return now == m ? m : NULL;
	k = (a - atomic_load(&now->start)) >> FM_PAGE_SHIFT;
	if (&now->mode[k] != &m->mode[*i])
		return NULL;
	*i = k;
	return now;
}

static bool id_alloc(struct fm_map *m)
{
	uint32_t id = UINT32_MAX;

	if (free_n) {
		id = free_ids[--free_n];
	} else {
		for (uint32_t k = 0; k < FM_MAX_MAPS; k++) {
			id = next_id++ & (FM_MAX_MAPS - 1);
			if (!atomic_load(&table[id]))
				break;
			id = UINT32_MAX;
		}
	}
	if (id == UINT32_MAX)
		return false;
	m->id = id;
	atomic_init(&m->gen, atomic_fetch_add(&gens[id], 1) & FM_GEN_MASK);
	return true;
}

static void id_free(struct fm_map *m)
{
	atomic_store(&table[m->id], NULL);
	if (free_n < sizeof(free_ids) / sizeof(free_ids[0]))
		free_ids[free_n++] = m->id;
}

#define MODES_MAPPED 65536 /* size: bytes; from there not on the heap */

/* ---- mode bytes ------------------------------------------------------- */

static struct fm_modes *modes_new(uint64_t pages)
{
	size_t touched = (size_t)((pages + FM_TOUCH_PAGES - 1) >>
				  FM_TOUCH_SHIFT);
	size_t bytes = sizeof(struct fm_modes) + touched + (size_t)pages;
	struct fm_modes *s;

	if (bytes >= MODES_MAPPED)
		bytes = fm_page_up(bytes);
	/* Large arrays are mapped so that untouched parts cost nothing. */
	s = bytes >= MODES_MAPPED ? fm_sys_anon(bytes) : fm_alloc(bytes);
	if (!s)
		return NULL;
	atomic_init(&s->refs, 1);
	s->live = 1;
	s->nghosts = 0;
	s->ghosts = NULL;
	s->said = (struct fm_said){ NULL, 0, 0 };
	s->pages = s->used = pages;
	s->bytes = bytes;
	s->touched = (_Atomic uint8_t *)(s + 1);
	s->mode = s->touched + touched;
	return s;
}

static void modes_put(struct fm_modes *s)
{
	if (atomic_fetch_sub(&s->refs, 1) != 1)
		return;
	fm_vma_advice_free(&s->said);
	if (s->bytes >= MODES_MAPPED)
		fm_sys_munmap(s, s->bytes);
	else
		fm_free(s);
}

/* The file's group first: who finds the mapping's touched relies on both. */
FM_FAULT void fm_map_touch_group(struct fm_map *m, uint64_t group)
{
	uint64_t base = m->pgoff - m->mbase; /* file page of modes->mode[0] */
	uint64_t first = group << FM_TOUCH_SHIFT;
	uint64_t stop = first + FM_TOUCH_PAGES;

	if (stop > m->modes->pages)
		stop = m->modes->pages;
	fm_file_touch(m->file, base + first, base + stop);
	atomic_store(&m->modes->touched[group], 1);
}

/* ---- objects ---------------------------------------------------------- */

static void map_free(void *obj)
{
	struct fm_map *m = obj;

	modes_put(m->modes);
	fm_streams_gone(m);
	fm_free(m);
}

struct fm_map *fm_map_new(struct fm_file *f, uintptr_t start, size_t len,
			  uint64_t pgoff)
{
	return fm_map_new_room(f, start, len, pgoff, len >> FM_PAGE_SHIFT);
}

struct fm_map *fm_map_new_room(struct fm_file *f, uintptr_t start, size_t len,
			       uint64_t pgoff, uint64_t room)
{
	struct fm_map *m = fm_alloc(sizeof(*m));

	if (!m)
		return NULL;
	m->modes = modes_new(room);
	if (!m->modes || !id_alloc(m)) {
		if (m->modes)
			modes_put(m->modes);
		fm_free(m);
		return NULL;
	}
	m->modes->used = len >> FM_PAGE_SHIFT;
	atomic_init(&m->start, start);
	atomic_init(&m->end, start + len);
	m->pgoff = pgoff;
	m->file = f;
	m->mode = m->modes->mode;
	return m;
}

bool fm_map_may_grow(const struct fm_map *m, uint64_t pages)
{
	return m->mbase + fm_map_pages(m) == m->modes->used &&
	       pages <= m->modes->pages - m->modes->used;
}

void fm_map_extend(struct fm_map *m, uint64_t pages)
{
	uint64_t used = m->modes->used;

	fm_vma_advice_grow(&m->modes->said, used, used + pages, &m->modes->said,
			   used - 1);
	m->modes->used += pages;
	atomic_fetch_add(&m->end, pages << FM_PAGE_SHIFT);
}

int fm_map_tell(struct fm_map *m, void *arg)
{
	fm_vma_advice_tell(&m->modes->said, m->mbase,
			   m->mbase + fm_map_pages(m), fm_map_addr(m, 0));
	return 0;
}

/* Who has m already sees pages of which no mode is set. The radix last: by then
 * all who have these pages of the file know that there are two of them. */
void fm_map_grow(struct fm_map *m, uint64_t pages)
{
	uintptr_t end = atomic_load(&m->end);

	fm_alias_remove(m);
	fm_map_extend(m, pages);
	fm_alias_add(m);
	fm_map_note_aliases(m);
	fm_space_set(end, atomic_load(&m->end), m); /* its nodes are reserved */
}

/* A sibling over the same mode bytes, from page i of m on. */
static struct fm_map *sibling(struct fm_map *m, uint64_t i)
{
	struct fm_map *n = fm_alloc(sizeof(*n));

	if (!n)
		return NULL;
	*n = *m;
	memset(n->overlap, 0, sizeof(n->overlap));
	atomic_store(&n->streams, NULL);
	atomic_store(&n->listed, false);
	if (!id_alloc(n)) {
		fm_free(n);
		return NULL;
	}
	atomic_fetch_add(&m->modes->refs, 1);
	m->modes->live++;
	n->pgoff = m->pgoff + i;
	n->mode = m->mode + i;
	n->mbase = m->mbase + i;
	fm_file_get(m->file);
	fm_streams_split(m, n, i);
	return n;
}

/* In the file's list already: now the table and the address space. */
static int enter_tables(struct fm_map *m)
{
	atomic_store(&table[m->id], m);
	fm_alias_add(m);
	atomic_fetch_add(&m->file->nmaps, 1);
	atomic_fetch_add(&fm_live_maps, 1);
	atomic_fetch_add(&fm_maps_entered, 1);
	return fm_space_set(atomic_load(&m->start), atomic_load(&m->end), m);
}

/* A huge unit across the cut: its pages are evicted one by one from now on. */
static void break_unit(struct fm_map *m, uint64_t i)
{
	uint64_t in = ((uintptr_t)fm_map_addr(m, i) >> FM_PAGE_SHIFT) %
		      FM_HUGE_PAGES;

	if (!in || in > i || !(fm_mode(m, i - 1) & PM_HUGE))
		return;
	for (uint64_t k = i - in; k < i - in + FM_HUGE_PAGES; k++)
		if (k < fm_map_pages(m) &&
		    (fm_mode(m, k) & (PM_PRESENT | PM_QUEUED)))
			FM_UP_EACH(page_renamed, add)
				add(m, k, false);
}

/* ---- ghosts ----------------------------------------------------------- */

static void requeue(struct fm_map *m, uint64_t i, void *arg)
{
	_Atomic uint8_t *p = fm_file_page(m->file, m->pgoff + i);
	uint8_t mode = fm_mode(m, i);

	if (!fm_mode_lazy(mode)) {
		if (mode & PM_QUEUED)
			FM_UP_EACH(page_renamed, add)
				add(m, i, mode & PM_MAIN);
		return;
	}
	/* Its marks change. Who has it locked makes it resident again, or is
	 * us, and about to do this (publish_moved). */
	if (!fm_page_trylock(p))
		return;
	if (fm_mode_lazy(fm_mode(m, i)))
		FM_UP_EACH(lazy_renamed, add)
			add(m, i);
	fm_page_unlock(p);
}

static void lay_ghosts(struct fm_modes *s)
{
	struct fm_map *g;

	while ((g = s->ghosts) != NULL) {
		s->ghosts = g->ghost_next;
		id_free(g);
		fm_epoch_retire(g, map_free);
	}
	s->nghosts = 0;
}

/* Pieces that were split off have entries under the id of m: it stays in the
 * table. Where that happens again and again, they get entries of their own. */
static void haunt(struct fm_map *m)
{
	struct fm_modes *s = m->modes;
	struct fm_map *o;

	m->ghost_next = s->ghosts;
	s->ghosts = m;
	if (++s->nghosts < GHOSTS)
		return;
	fm_for_each_map(o, m->file)
		if (o->modes == s)
			fm_map_each(o, 0, fm_map_pages(o), requeue, NULL);
	lay_ghosts(s);
}

static void leave_table(struct fm_map *m)
{
	if (m->modes->live && atomic_load(&m->listed)) {
		haunt(m);
		return;
	}
	id_free(m);
	if (!m->modes->live)
		lay_ghosts(m->modes);
	fm_epoch_retire(m, map_free);
}

/* ---- life in the lists ------------------------------------------------- */

/* Right behind the mapping it was cut from, before that one ends earlier: a
 * walk without a lock that has passed the head of the list must meet one of
 * the two. */
static int publish_after(struct fm_map *n, struct fm_map *m)
{
	struct fm_map *next = atomic_load(&m->file_next);

	n->file_prev = m;
	atomic_store(&n->file_next, next);
	if (next)
		next->file_prev = n;
	atomic_store(&m->file_next, n);
	return enter_tables(n);
}

struct fm_map *fm_map_split(struct fm_map *m, uint64_t i)
{
	struct fm_map *n = sibling(m, i);
	uintptr_t end = atomic_load(&m->end);

	if (!n)
		return NULL;
	atomic_store(&n->start, (uintptr_t)fm_map_addr(m, i));
	if (publish_after(n, m)) {
		fm_map_unlink(n);
		fm_space_set((uintptr_t)fm_map_addr(m, i), end, m);
		return NULL;
	}
	break_unit(m, i);
	/* Readers who still hold m for an upper address find n when they look
	 * again under the page lock; both name the same mode byte. */
	atomic_store(&m->end, atomic_load(&n->start));
	return n;
}

struct fm_map *fm_map_moved(struct fm_map *m)
{
	return sibling(m, 0);
}

void fm_map_discard(struct fm_map *m)
{
	if (!m)
		return;
	id_free(m);
	m->modes->live--;
	fm_file_put_locked(m->file);
	map_free(m);
}

static bool overlap(const struct fm_map *a, const struct fm_map *b)
{
	return a->pgoff < b->pgoff + fm_map_pages(b) &&
	       b->pgoff < a->pgoff + fm_map_pages(a);
}

/* Pieces of one mmap call never overlap. */
static void note_alias(struct fm_map *o, struct fm_map *m)
{
	if (o == m || o->modes == m->modes || !overlap(o, m))
		return;
	atomic_store(&o->aliased, true);
	atomic_store(&m->aliased, true);
}

void fm_map_note_aliases(struct fm_map *m)
{
	fm_alias_each(m, note_alias);
}

int fm_map_publish(struct fm_map *m)
{
	struct fm_map *head = atomic_load(&m->file->maps);

	m->file_prev = NULL;
	atomic_store(&m->file_next, head);
	if (head)
		head->file_prev = m;
	atomic_store(&m->file->maps, m);
	return enter_tables(m);
}

void fm_map_unlink(struct fm_map *m)
{
	struct fm_map *next = atomic_load(&m->file_next);
	bool large = m->modes->bytes >= MODES_MAPPED;

	/* m keeps its own link: a reader who stands on it can go on. */
	if (m->file_prev)
		atomic_store(&m->file_prev->file_next, next);
	else
		atomic_store(&m->file->maps, next);
	if (next)
		next->file_prev = m->file_prev;
	fm_alias_remove(m);
	atomic_fetch_sub(&m->file->nmaps, 1);
	atomic_fetch_sub(&fm_live_maps, 1);
	m->modes->live--;
	leave_table(m);
	fm_file_put_locked(m->file);
	fm_epoch_reclaim(large);
}

/* ---- walking ---------------------------------------------------------- */

static void each_in_group(struct fm_map *m, uint64_t lo, uint64_t hi,
			  fm_page_fn fn, void *arg)
{
	for (uint64_t i = lo; i < hi; i++) {
		_Atomic uint8_t *p = fm_file_page(m->file, m->pgoff + i);

		/* The lock first, the mode second: a fault that ends between
		 * the two has set the mode before it gave up the lock. */
		if (!(atomic_load(p) & (FP_BUSY | FP_AHEAD)) && !fm_mode(m, i))
			continue;
		fn(m, i, arg);
	}
}

void fm_map_each(struct fm_map *m, uint64_t lo, uint64_t hi, fm_page_fn fn,
		 void *arg)
{
	fm_fence();
	while (lo < hi) {
		uint64_t group = (m->mbase + lo) >> FM_TOUCH_SHIFT;
		uint64_t stop = ((group + 1) << FM_TOUCH_SHIFT) - m->mbase;

		if (stop > hi)
			stop = hi;
		if (atomic_load(&m->modes->touched[group]))
			each_in_group(m, lo, stop, fn, arg);
		lo = stop;
	}
}

FM_FAULT struct fm_map *fm_map_holder(struct fm_file *f, uint64_t fp,
				      const struct fm_map *except,
				      uint64_t *ret_i)
{
	struct fm_map *o;

	fm_for_each_map(o, f) {
		uint64_t i;

		if (!o->shared || !fm_map_covers(o, fp, &i) ||
		    (except && fm_same_copy(o, i, except, fp)) ||
		    !fm_mode_resident(fm_mode(o, i)))
			continue;
		*ret_i = i;
		return o;
	}
	return NULL;
}

uint64_t fm_pages_within(uintptr_t start, uintptr_t end, uint64_t pgoff,
			 uint64_t size)
{
	const uint64_t all = (end - start) >> FM_PAGE_SHIFT;

	size = (size + FM_PAGE_MASK) >> FM_PAGE_SHIFT;
	return fm_least(all, size > pgoff ? size - pgoff : 0);
}

uint64_t fm_map_bytes(struct fm_file *f)
{
	uint64_t sum = 0;
	struct fm_map *m;

	fm_for_each_map(m, f)
		sum += atomic_load(&m->end) - atomic_load(&m->start);
	return fm_least(sum, (uint64_t)atomic_load(&f->size));
}

bool fm_may_be_stored_to(struct fm_file *f)
{
	struct fm_map *m;

	fm_for_each_map(m, f)
		if (m->shared && m->maywrite)
			return true;
	return false;
}
