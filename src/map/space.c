/* SPDX-License-Identifier: MIT */
#include "space.h"

#include "base/sys.h"
#include "base/types.h"

/* Level 0 covers 1 GiB an entry, level 1 2 MiB, level 2 4 KiB. */
static const int shift_of[3] = { 30, 21, 12 };
#define ROOT (FM_ARCH_END >> 30)
#define FAN 512 /* size: of a node */
#define LEAF_TAG 1u /* bits: entry is a mapping, not a node */

typedef _Atomic uintptr_t entry;

static entry root[ROOT];
static _Atomic uintptr_t low = UINTPTR_MAX, high; /* bounds, only widen */
static entry *spare; /* node slab */
static size_t spare_n;

static inline unsigned index_at(uintptr_t addr, int level)
{
	if (level == 0)
		return (unsigned)(addr >> 30);
	return (unsigned)(addr >> shift_of[level]) & (FAN - 1);
}

FM_FAULT struct fm_map *fm_space_find(uintptr_t addr)
{
	entry *node = root;

	if (addr >= FM_ARCH_END)
		return NULL;
	for (int level = 0; level < 3; level++) {
		uintptr_t e = atomic_load(&node[index_at(addr, level)]);

		if (e & LEAF_TAG)
			return (struct fm_map *)(e & ~(uintptr_t)LEAF_TAG);
		if (!e)
			return NULL;
		node = (entry *)e;
	}
	return NULL;
}

FM_FAULT struct fm_map *fm_space_next(uintptr_t addr, uintptr_t end,
				      uintptr_t *ret_at)
{
	uintptr_t lo = atomic_load(&low), hi = atomic_load(&high);

	if (addr < lo)
		addr = lo;
	if (end > hi)
		end = hi;
	while (addr < end) {
		entry *node = root;
		int level = 0;
		uintptr_t e = 0;

		for (; level < 3; level++) {
			e = atomic_load(&node[index_at(addr, level)]);
			if (!e || (e & LEAF_TAG))
				break;
			node = (entry *)e;
		}
		if (e & LEAF_TAG) {
			*ret_at = addr;
			return (struct fm_map *)(e & ~(uintptr_t)LEAF_TAG);
		}
		addr = ((addr >> shift_of[level]) + 1) << shift_of[level];
	}
	return NULL;
}

static int slab_new(size_t n)
{
	entry *p = fm_sys_anon(n * FAN * sizeof(entry));

	if (!p)
		return -ENOMEM;
	spare = p; /* what was left of the old one is lost: a few pages */
	spare_n = n;
	return 0;
}

/* A range has two ends, each of which may split an entry of two levels. */
int fm_space_reserve(size_t ranges)
{
	return spare_n >= 4 * ranges ? 0 : slab_new(4 * ranges + 64);
}

static entry *node_new(void)
{
	if (!spare_n && slab_new(64))
		return NULL;
	spare_n--;
	return spare + spare_n * FAN;
}

/* Turn an entry into a node that says the same, so that a part of it can
 * change. Readers see the old entry or the complete node. */
static entry *split(entry *e)
{
	uintptr_t old = atomic_load(e);
	entry *node;

	if (old && !(old & LEAF_TAG))
		return (entry *)old;
	node = node_new();
	if (!node)
		return NULL;
	for (int i = 0; i < FAN; i++)
		atomic_store_explicit(&node[i], old, memory_order_relaxed);
	atomic_store(e, (uintptr_t)node);
	return node;
}

static int set_level(entry *node, int level, uintptr_t start, uintptr_t end,
		     uintptr_t value)
{
	uintptr_t step = (uintptr_t)1 << shift_of[level];

	while (start < end) {
		entry *e = &node[index_at(start, level)];
		uintptr_t next = (start & ~(step - 1)) + step;
		uintptr_t stop = next < end ? next : end;
		entry *child;
		int err;

		if (start % step == 0 && stop == next &&
		    (level == 2 || !atomic_load(e) ||
		     (atomic_load(e) & LEAF_TAG))) {
			atomic_store(e, value);
		} else {
			child = split(e);
			if (!child)
				return -ENOMEM;
			err = set_level(child, level + 1, start, stop, value);
			if (err)
				return err;
		}
		start = stop;
	}
	return 0;
}

void fm_space_bounds(uintptr_t start, uintptr_t end)
{
	if (start < atomic_load(&low))
		atomic_store(&low, start);
	if (end > atomic_load(&high))
		atomic_store(&high, end);
}

int fm_space_set(uintptr_t start, uintptr_t end, struct fm_map *map)
{
	uintptr_t value = map ? (uintptr_t)map | LEAF_TAG : 0;

	if (map)
		fm_space_bounds(start, end);
	return set_level(root, 0, start, end, value);
}

bool fm_space_near(uintptr_t a, uintptr_t end)
{
	return a < end && a < atomic_load(&high) && end > atomic_load(&low);
}
