/* SPDX-License-Identifier: MIT */
#include "table.h"

#include "base/alloc.h"
#include "base/life.h"
#include "base/sys.h"

#define BLOCK 256u    /* size: entries that are made room for at once */
#define BLOCKS 256u   /* size: of these */
#define CASES (BLOCK * BLOCKS - 1) /* size: entries */
#define PLACES 65536u /* size: a power of two */
#define PROBES 16u    /* bits: places looked at */

/* Where all memory is locked what is not used yet costs nothing. */
static _Atomic(struct fm_serve_entry *) block[BLOCKS];
static _Atomic uint16_t place[PLACES]; /* 1 + the entry; 0: free */
static _Atomic uint32_t used;
static _Atomic uint32_t generation; /* a child of fork has another */

static _Atomic uint16_t *table_place_of(dev_t dev, ino_t ino, unsigned k)
{
	const uint64_t h = ((uint64_t)ino ^ (uint64_t)dev << 20) *
			   0x9e3779b97f4a7c15ull;

	return &place[((h >> 40) + k) % PLACES];
}

static struct fm_serve_entry *table_at(uint16_t n, dev_t dev, ino_t ino)
{
	struct fm_serve_entry *c =
		&atomic_load(&block[(n - 1u) / BLOCK])[(n - 1u) % BLOCK];

	return c->ino == ino && c->dev == dev ? c : NULL;
}

struct fm_serve_entry *fm_serve_find(dev_t dev, ino_t ino)
{
	struct fm_serve_entry *c = NULL;

	for (unsigned k = 0; k < PROBES && !c; k++) {
		const uint16_t n = atomic_load(table_place_of(dev, ino, k));

		if (!n)
			return NULL;
		c = table_at(n, dev, ino);
	}
	return c;
}

/* NULL without memory. Who comes second has the first one's. */
static struct fm_serve_entry *block_at(unsigned b)
{
	struct fm_serve_entry *is = atomic_load(&block[b]), *new;

	if (is)
		return is;
	new = fm_sys_anon(BLOCK * sizeof(*new));
	if (!new || atomic_compare_exchange_strong(&block[b], &is, new))
		return new;
	fm_sys_munmap(new, BLOCK * sizeof(*new));
	return is;
}

/* 1 + a new entry; 0: there is none. */
static uint16_t table_make(dev_t dev, ino_t ino)
{
	uint32_t n = atomic_load(&used);
	struct fm_serve_entry *b;

	do {
		b = n < CASES ? block_at(n / BLOCK) : NULL;
		if (!b)
			return 0;
	} while (!atomic_compare_exchange_weak(&used, &n, n + 1));
	b[n % BLOCK].dev = dev;
	b[n % BLOCK].ino = ino;
	return (uint16_t)(n + 1);
}

/* Where no place is left no entry is made. Who comes second for the same file
 * finds the place taken, by it. */
static struct fm_serve_entry *table_add(dev_t dev, ino_t ino)
{
	struct fm_serve_entry *c = NULL;
	uint16_t new = 0;

	for (unsigned k = 0; k < PROBES && !c; k++) {
		_Atomic uint16_t *p = table_place_of(dev, ino, k);
		uint16_t n = atomic_load(p);

		if (!n && !new && !(new = table_make(dev, ino)))
			return NULL;
		if (!n && atomic_compare_exchange_strong(p, &n, new))
			n = new;
		c = table_at(n, dev, ino);
	}
	return c;
}

_Atomic bool fm_serve_incomplete;

struct fm_serve_entry *fm_serve_of(dev_t dev, ino_t ino)
{
	struct fm_serve_entry *c = fm_serve_find(dev, ino);

	if (!c && !(c = table_add(dev, ino)))
		atomic_store(&fm_serve_incomplete, true);
	return c;
}

bool fm_veto_put(struct fm_serve_entry *c, enum fm_veto v, bool is)
{
	if (is)
		atomic_fetch_or(&c->vetoes, v);
	else
		atomic_fetch_and(&c->vetoes, ~(uint32_t)v);
	return is;
}

void fm_serve_kernel(dev_t dev, ino_t ino)
{
	struct fm_serve_entry *c = fm_serve_of(dev, ino);

	if (c)
		atomic_store(&c->kernel, true);
}

struct fm_maps *fm_serve_maps(dev_t dev, ino_t ino, bool make)
{
	struct fm_serve_entry *c = make ? fm_serve_of(dev, ino) :
					  fm_serve_find(dev, ino);
	const uint32_t now = atomic_load(&generation);

	if (c && !c->maps && make)
		c->maps = fm_alloc(sizeof(*c->maps));
	if (!c || !c->maps)
		return NULL;
	if (c->maps_of != now)
		*c->maps = (struct fm_maps){ 0 };
	c->maps_of = now;
	return c->maps;
}

/* Entries are not gone through, of which there may be 60,000: what was of the
 * parent is told by its number. */
static void table_forked(void)
{
	atomic_fetch_add(&generation, 1);
}

FM_LIFE(serve_table, .level = FM_LIFE_HELPERS, .forked = table_forked)
