/* SPDX-License-Identifier: MIT */
#include "table.h"

#include "base/alloc.h"
#include "base/life.h"

#define PLACES 65536u /* size: a power of two */
#define PROBES 16u    /* bits: places looked at */

static _Atomic(struct fm_serve_entry *) place[PLACES];
static _Atomic uint32_t generation; /* a child of fork has another */

static _Atomic(struct fm_serve_entry *) *table_place_of(dev_t dev, ino_t ino,
							unsigned k)
{
	const uint64_t h = ((uint64_t)ino ^ (uint64_t)dev << 20) *
			   0x9e3779b97f4a7c15ull;

	return &place[((h >> 40) + k) % PLACES];
}

struct fm_serve_entry *fm_serve_find(dev_t dev, ino_t ino)
{
	for (unsigned k = 0; k < PROBES; k++) {
		struct fm_serve_entry *c =
			atomic_load(table_place_of(dev, ino, k));

		if (!c || (c->ino == ino && c->dev == dev))
			return c;
	}
	return NULL;
}

/* Where no place is left no entry is made. Who comes second for the same file
 * finds the place taken, by it. */
static struct fm_serve_entry *table_add(dev_t dev, ino_t ino)
{
	struct fm_serve_entry *new = fm_alloc(sizeof(*new));

	if (!new)
		return NULL;
	new->dev = dev;
	new->ino = ino;
	for (unsigned k = 0; k < PROBES; k++) {
		struct fm_serve_entry *c = NULL;

		if (atomic_compare_exchange_strong(
			    table_place_of(dev, ino, k), &c, new))
			return new;
		if (c->ino == ino && c->dev == dev) {
			fm_free(new);
			return c;
		}
	}
	fm_free(new);
	return NULL;
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
