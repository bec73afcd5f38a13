/* SPDX-License-Identifier: MIT */
#include "table.h"

#include "base/alloc.h"
#include "base/life.h"
#include "base/sys.h"

#define MOST 65536u /* size: files */
#define ALIKE 64u   /* size: lengths and devices */

FM_INODE_TABLE(entries, 16);
static _Atomic uint32_t entries_made;
static _Atomic uint32_t generation; /* a child of fork has another */
_Atomic bool fm_serve_incomplete;

static struct fm_serve_entry *table_entry(struct fm_by_inode *l)
{
	return l ? FM_INODE_OF(l, struct fm_serve_entry) : NULL;
}

struct fm_serve_entry *fm_serve_find(dev_t dev, ino_t ino)
{
	return table_entry(fm_inode_first(&entries, dev, ino));
}

static struct fm_serve_entry *table_add(dev_t dev, ino_t ino)
{
	struct fm_serve_entry *new, *c;

	if (atomic_load(&entries_made) >= MOST ||
	    !(new = fm_alloc(sizeof(*new))))
		return NULL;
	new->dev = dev;
	new->ino = ino;
	c = table_entry(fm_inode_add_once(&entries, &new->link));
	if (c == new)
		atomic_fetch_add(&entries_made, 1);
	else
		fm_free(new);
	return c;
}

struct fm_serve_entry *fm_serve_of(dev_t dev, ino_t ino)
{
	struct fm_serve_entry *c = fm_serve_find(dev, ino);

	if (!c && !(c = table_add(dev, ino)))
		atomic_store(&fm_serve_incomplete, true);
	return c;
}

static uint64_t changed_ns(const struct stat *st)
{
	return (uint64_t)st->st_ctim.tv_sec * 1000000000u +
	       (uint64_t)st->st_ctim.tv_nsec;
}

bool fm_serve_unchanged(const struct fm_serve_entry *c, const struct stat *st)
{
	return atomic_load(&c->changed) == changed_ns(st);
}

void fm_serve_seen(const struct stat *st, int fd)
{
	struct fm_serve_entry *c = fm_serve_of(st->st_dev, st->st_ino);
	uint64_t born, was;

	if (!c || fm_serve_unchanged(c, st))
		return;
	born = fm_sys_birth(fd);
	was = atomic_exchange(&c->born, born);
	if (was && was != born)
		atomic_fetch_add(&c->file, 1);
	atomic_store(&c->changed, changed_ns(st));
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
	uint32_t now = atomic_load(&generation);

	if (c && !c->maps && make)
		c->maps = fm_alloc(sizeof(*c->maps));
	if (!c || !c->maps)
		return NULL;
	now += atomic_load(&c->file); /* neither goes back */
	if (c->maps_of != now)
		*c->maps = (struct fm_maps){ 0 };
	c->maps_of = now;
	return c->maps;
}

static struct alike {
	dev_t dev;
	unsigned length; /* its logarithm */
	uint32_t maps_of;
	struct fm_maps maps;
} alike[ALIKE];

struct fm_maps *fm_serve_alike(dev_t dev, size_t len, bool make)
{
	const unsigned length = 63u - (unsigned)__builtin_clzl(len | 1);
	const uint32_t now = atomic_load(&generation);
	struct alike *a = &alike[(fm_inode_hash(dev, length) >> 32) % ALIKE];

	if (a->maps.most + a->maps.n && a->dev == dev && a->length == length &&
	    a->maps_of == now)
		return &a->maps;
	if (!make)
		return NULL;
	*a = (struct alike){ .dev = dev, .length = length, .maps_of = now };
	return &a->maps;
}

/* Entries are not gone through, of which there may be 60,000: what was of the
 * parent is told by its number. */
static void table_forked(void)
{
	atomic_fetch_add(&generation, 1);
}

FM_LIFE(serve_table, .level = FM_LIFE_HELPERS, .forked = table_forked)
