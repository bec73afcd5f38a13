/* SPDX-License-Identifier: MIT */
#include "early.h"

#include <stdint.h>
#include <string.h>

#define ROOM 16384u /* size: bytes */
#define LARGEST 1024u /* size: bytes, of one */
#define UNIT 16u /* size: bytes, and what all is aligned to */

struct block {
	_Alignas(UNIT) uint32_t size; /* of what follows */
	bool free;
};

static _Alignas(UNIT) char room[ROOM];
static uint32_t used;

static struct block *block_of(const void *p)
{
	return (struct block *)(uintptr_t)((const char *)p - UNIT);
}

/* One that was given back and is not much larger. */
static struct block *early_again(uint32_t size)
{
	struct block *b;

	for (uint32_t at = 0; at < used; at += UNIT + b->size) {
		b = (struct block *)(void *)&room[at];
		if (b->free && b->size >= size && b->size <= 2 * size)
			return b;
	}
	return NULL;
}

static struct block *early_new(uint32_t size)
{
	struct block *b = (struct block *)(void *)&room[used];

	if (ROOM - used < UNIT + size)
		return NULL;
	used += UNIT + size;
	b->size = size;
	return b;
}

void *fm_early_get(size_t size)
{
	const uint32_t n = size ? ((uint32_t)size + UNIT - 1) & -UNIT : UNIT;
	struct block *b;
	void *p;

	if (size > LARGEST)
		return NULL;
	b = early_again(n);
	if (!b && !(b = early_new(n)))
		return NULL;
	b->free = false;
	p = (char *)b + UNIT;
	return memset(p, 0, b->size);
}

bool fm_early_has(const void *p)
{
	return (const char *)p >= room && (const char *)p < room + ROOM;
}

size_t fm_early_size(const void *p)
{
	return block_of(p)->size;
}

void fm_early_put(void *p)
{
	block_of(p)->free = true;
}
