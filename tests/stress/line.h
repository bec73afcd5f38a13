/* SPDX-License-Identifier: MIT */
/*
 * line.h - self-describing 64-byte lines, the unit that the stress and kill
 * tests store and check.
 *
 * A line has two slots. Version v goes to slot v & 1, so the slot of the last
 * completed version is never under way when the next one is stored: whoever
 * knows (from a journal outside of the mapping) that version v was completed
 * may demand it exactly, whatever instant he looks at. A lost, stale, torn or
 * misplaced line cannot pass for a good one: each slot carries its file
 * offset, its version and a checksum of both.
 */
#ifndef LINE_H
#define LINE_H

#include <stdint.h>
#include <stdio.h>
#include <string.h>

#define LINE_SIZE 64

struct slot {
	uint64_t version;
	uint64_t offset;
	uint64_t fill;
	uint64_t check;
};

struct line {
	struct slot slot[2];
};

static inline uint64_t line_mix(uint64_t x)
{
	x ^= x >> 30;
	x *= 0xbf58476d1ce4e5b9ull;
	x ^= x >> 27;
	x *= 0x94d049bb133111ebull;
	return x ^ x >> 31;
}

static inline struct slot slot_make(uint64_t offset, uint64_t version)
{
	struct slot s = { .version = version, .offset = offset };

	s.fill = line_mix(offset * 3 + version);
	s.check = line_mix(s.fill ^ line_mix(offset) ^ version << 1);
	return s;
}

/* Store version v of the line at file offset `offset`. */
static inline void line_store(struct line *l, uint64_t offset, uint64_t v)
{
	struct slot s = slot_make(offset, v);
	volatile struct slot *to = &l->slot[v & 1];

	to->version = s.version;
	to->offset = s.offset;
	to->fill = s.fill;
	to->check = s.check;
}

static inline struct slot slot_load(const struct slot *s)
{
	const volatile struct slot *from = s;
	struct slot r;

	r.version = from->version;
	r.offset = from->offset;
	r.fill = from->fill;
	r.check = from->check;
	return r;
}

/* Version 0 is the hole: a line that was never stored is all zero. */
static inline int slot_is(const struct slot *s, uint64_t offset, uint64_t v)
{
	struct slot want = slot_make(offset, v);

	if (v == 0)
		memset(&want, 0, sizeof(want));
	return memcmp(s, &want, sizeof(want)) == 0;
}

static inline void slot_print(FILE *f, const char *name, const struct slot *s)
{
	struct slot want = slot_make(s->offset, s->version);

	fprintf(f, "  %s: version %llu offset %#llx %s\n", name,
		(unsigned long long)s->version, (unsigned long long)s->offset,
		memcmp(s, &want, sizeof(want)) == 0 ? "intact" :
		s->version | s->offset | s->fill | s->check ? "TORN" : "zero");
}

#endif
