/* SPDX-License-Identifier: MIT */
#include "alias_index.h"

#include "map.h"

#define HEADS 65536
#define CLASSES 4

/* Pages of a part, as a power of two: 256 KiB, 16 MiB, 1 GiB, all. */
static const unsigned shift_of[CLASSES] = { 6, 12, 18, 63 };
static struct fm_alias_link *heads[HEADS];
static uint32_t members[CLASSES];

static unsigned alias_index_class_of(uint64_t pages)
{
	unsigned c = 0;

	while (pages > 1ull << shift_of[c])
		c++;
	return c;
}

static uint64_t last_page(const struct fm_map *m)
{
	return m->pgoff + fm_map_pages(m) - 1;
}

static struct fm_alias_link **alias_index_head(const struct fm_file *f,
					       unsigned c, uint64_t part)
{
	uint64_t h = ((uint64_t)f->id * CLASSES + c) * 0xc2b2ae3d27d4eb4full;

	h = (h ^ part) * 0x9e3779b97f4a7c15ull;
	return &heads[h >> 48];
}

static void link_in(struct fm_alias_link *l, struct fm_map *m,
		    struct fm_alias_link **at)
{
	l->map = m;
	l->next = *at;
	l->prev = at;
	if (l->next)
		l->next->prev = &l->next;
	*at = l;
}

static void link_out(struct fm_alias_link *l)
{
	if (!l->prev)
		return;
	*l->prev = l->next;
	if (l->next)
		l->next->prev = l->prev;
	l->prev = NULL;
}

void fm_alias_add(struct fm_map *m)
{
	unsigned c = alias_index_class_of(fm_map_pages(m));
	uint64_t first = m->pgoff >> shift_of[c];
	uint64_t last = last_page(m) >> shift_of[c];

	m->overlap_class = (uint8_t)c;
	members[c]++;
	link_in(&m->overlap[0], m, alias_index_head(m->file, c, first));
	if (last != first)
		link_in(&m->overlap[1], m, alias_index_head(m->file, c, last));
}

void fm_alias_remove(struct fm_map *m)
{
	if (!m->overlap[0].prev)
		return;
	members[m->overlap_class]--;
	link_out(&m->overlap[0]);
	link_out(&m->overlap[1]);
}

/* A large range touches so many parts that the list of all may be shorter. */
static bool few_parts(const struct fm_map *m)
{
	uint64_t parts = 0;

	for (unsigned c = 0; c < CLASSES; c++)
		if (members[c])
			parts += (last_page(m) >> shift_of[c]) -
				 (m->pgoff >> shift_of[c]) + 1;
	return parts <= atomic_load(&m->file->nmaps);
}

static void alias_index_each_in(struct fm_alias_link *l, struct fm_map *m,
				void (*fn)(struct fm_map *o, struct fm_map *m))
{
	for (; l; l = l->next)
		if (l->map->file == m->file)
			fn(l->map, m);
}

void fm_alias_each(struct fm_map *m,
		     void (*fn)(struct fm_map *o, struct fm_map *m))
{
	struct fm_map *o;

	if (!few_parts(m)) {
		fm_for_each_map(o, m->file)
			fn(o, m);
		return;
	}
	for (unsigned c = 0; c < CLASSES; c++) {
		uint64_t part = m->pgoff >> shift_of[c];

		for (; members[c] && part <= last_page(m) >> shift_of[c];
		     part++)
			alias_index_each_in(*alias_index_head(m->file, c, part),
					    m, fn);
	}
}
