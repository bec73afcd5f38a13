/* SPDX-License-Identifier: MIT */
/*
 * store_chunks.h - which bytes of one read have come, where they come in pieces
 * of any order: each once, and all of them in the end.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#define CHUNK_GAPS 64 /* pieces that do not touch: more is a mischief */

struct chunks {
	unsigned count;
	struct chunk {
		uint64_t from, end;
	} part[CHUNK_GAPS]; /* in order, apart from each other */
};

static inline void chunk_remove(struct chunks *c, unsigned i)
{
	c->count--;
	memmove(&c->part[i], &c->part[i + 1],
		(c->count - i) * sizeof(c->part[0]));
}

/* [from, from + n) has come. False: some of it had before, or there is no room
 * to remember it. */
static inline bool chunks_add(struct chunks *c, uint64_t from, uint64_t n)
{
	unsigned i = 0;

	while (i < c->count && c->part[i].end < from)
		i++;
	if (i < c->count && c->part[i].end == from) {
		c->part[i].end += n;
	} else {
		if (c->count == CHUNK_GAPS ||
		    (i < c->count && from + n > c->part[i].from))
			return false;
		memmove(&c->part[i + 1], &c->part[i],
			(c->count - i) * sizeof(c->part[0]));
		c->part[i] = (struct chunk){ from, from + n };
		c->count++;
	}
	if (i + 1 == c->count || c->part[i].end < c->part[i + 1].from)
		return true;
	if (c->part[i].end > c->part[i + 1].from)
		return false;
	c->part[i].end = c->part[i + 1].end;
	chunk_remove(c, i + 1);
	return true;
}

/* All of [from, from + n), and nothing else. */
static inline bool chunks_whole(const struct chunks *c, uint64_t from,
				uint64_t n)
{
	return c->count == 1 && c->part[0].from == from &&
	       c->part[0].end == from + n;
}
