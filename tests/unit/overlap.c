/* SPDX-License-Identifier: MIT */
/* The index of overlapping mappings against a look at all of them. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "map/alias_index.h"
#include "map/map.h"

#define MAPS 400
#define ROUNDS 20000

static struct fm_file file[2];
static struct fm_map maps[MAPS];
static bool in[MAPS], found[MAPS];

static uint64_t rnd(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s * 0x2545f4914f6cdd1dull >> 11;
}

/* All sizes from a page to some GiB, in a file of 64 GiB. */
static void make(struct fm_map *m, uint64_t *s)
{
	uint64_t pages = 1 + rnd(s) % (1ull << (rnd(s) % 21));

	memset(m, 0, sizeof(*m));
	m->file = &file[rnd(s) % 2];
	m->pgoff = rnd(s) % (1 << 24);
	atomic_store(&m->start, FM_PAGE);
	atomic_store(&m->end, (pages + 1) * FM_PAGE);
}

/* Both ways: by the index, and, when the file has few mappings, by its list. */
static void in_list(struct fm_map *m, int by)
{
	struct fm_map *head = atomic_load(&m->file->maps), **at = &head;

	atomic_fetch_add(&m->file->nmaps, (uint32_t)by);
	if (by > 0) {
		atomic_store(&m->file_next, head);
		head = m;
	} else {
		while (*at != m)
			at = (struct fm_map **)&(*at)->file_next;
		*at = atomic_load(&m->file_next);
	}
	atomic_store(&m->file->maps, head);
}

static void toggle(int k, uint64_t *s)
{
	struct fm_map *m = &maps[k];

	if (in[k]) {
		fm_alias_remove(m);
		in_list(m, -1);
	} else {
		make(m, s);
		fm_alias_add(m);
		in_list(m, 1);
	}
	in[k] = !in[k];
}

static void note(struct fm_map *o, struct fm_map *m)
{
	assert_ptr_equal(o->file, m->file);
	found[o - maps] = true;
}

static bool overlap(const struct fm_map *a, const struct fm_map *b)
{
	return a->file == b->file && a->pgoff < b->pgoff + fm_map_pages(b) &&
	       b->pgoff < a->pgoff + fm_map_pages(a);
}

static void finds_what_overlaps(void **state)
{
	uint64_t s = 1, hits = 0;
	struct fm_map m;

	for (int round = 0; round < ROUNDS; round++) {
		int k = (int)(rnd(&s) % MAPS);

		toggle(k, &s);
		if (in[k] && rnd(&s) % 4 == 0) /* cut, as by munmap */
			atomic_store(&maps[k].end,
				     (2 + rnd(&s) % fm_map_pages(&maps[k])) *
					     FM_PAGE);
		make(&m, &s);
		memset(found, 0, sizeof(found));
		fm_alias_each(&m, note);
		for (k = 0; k < MAPS; k++) {
			hits += found[k];
			assert_true(!found[k] || in[k]);
			if (in[k] && overlap(&maps[k], &m))
				assert_true(found[k]);
		}
	}
	assert_true(hits > ROUNDS / 10);
}

FM_UNIT(overlap)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(finds_what_overlaps),
	};

	file[1].id = 1;
	return cmocka_run_group_tests(tests, NULL, NULL);
}
