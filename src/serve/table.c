/* SPDX-License-Identifier: MIT */
#include "table.h"

#include "base/life.h"

#define CASES 65535u  /* size: entries */
#define PLACES 65536u /* size: a power of two */
#define PROBES 16u    /* bits: places looked at */

static struct fm_case cases[CASES];
static _Atomic uint16_t place[PLACES]; /* 1 + the entry; 0: free */
static _Atomic uint32_t used;

static _Atomic uint16_t *place_of(dev_t dev, ino_t ino, unsigned k)
{
	const uint64_t h = ((uint64_t)ino ^ (uint64_t)dev << 20) *
			   0x9e3779b97f4a7c15ull;

	return &place[((h >> 40) + k) % PLACES];
}

static struct fm_case *at(uint16_t n, dev_t dev, ino_t ino)
{
	struct fm_case *c = &cases[n - 1];

	return c->ino == ino && c->dev == dev ? c : NULL;
}

struct fm_case *fm_case_find(dev_t dev, ino_t ino)
{
	struct fm_case *c = NULL;

	for (unsigned k = 0; k < PROBES && !c; k++) {
		const uint16_t n = atomic_load(place_of(dev, ino, k));

		if (!n)
			return NULL;
		c = at(n, dev, ino);
	}
	return c;
}

/* 1 + a new entry; 0: there is none. */
static uint16_t make(dev_t dev, ino_t ino)
{
	uint32_t n = atomic_load(&used);

	do
		if (n == CASES)
			return 0;
	while (!atomic_compare_exchange_weak(&used, &n, n + 1));
	cases[n].dev = dev;
	cases[n].ino = ino;
	return (uint16_t)(n + 1);
}

/* Where no place is left no entry is made. Who comes second for the same file
 * finds the place taken, by it. */
static struct fm_case *add(dev_t dev, ino_t ino)
{
	struct fm_case *c = NULL;
	uint16_t new = 0;

	for (unsigned k = 0; k < PROBES && !c; k++) {
		_Atomic uint16_t *p = place_of(dev, ino, k);
		uint16_t n = atomic_load(p);

		if (!n && !new && !(new = make(dev, ino)))
			return NULL;
		if (!n && atomic_compare_exchange_strong(p, &n, new))
			n = new;
		c = at(n, dev, ino);
	}
	return c;
}

struct fm_case *fm_case_of(dev_t dev, ino_t ino)
{
	struct fm_case *c = fm_case_find(dev, ino);

	return c ? c : add(dev, ino);
}

static void forked(void)
{
	for (uint32_t n = 0; n < atomic_load(&used); n++) {
		cases[n].maps = (struct fm_maps){ 0 };
		atomic_store(&cases[n].skipped, 0);
	}
}

FM_LIFE(serve_table, .level = FM_LIFE_HELPERS, .forked = forked)
