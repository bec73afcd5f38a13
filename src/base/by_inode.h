/* SPDX-License-Identifier: MIT */
/*
 * by_inode.h - a hash table of what is kept of files, by device and inode.
 *
 * What is found carries its own link (FM_BY_INODE), so the table takes no
 * memory. A bucket is a list whose head alone is changed by who adds, by one
 * compare-and-swap. So who looks needs no lock:
 *
 * - A link is complete before it is at the head; what was there before is
 *   behind it. Who has read the old head misses what came later, no more.
 * - What is taken out keeps its own `next`: who stands on it goes on to all
 *   that were behind it. It is freed, or added again, when nobody can stand on
 *   it any more (epoch.h), or where all who look have the lock as well.
 * - Who adds while the head is taken out, or the other way round: one of the
 *   two swaps fails, and looks again. Behind the head only who takes out
 *   writes, and of those there is one at a time.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct fm_by_inode {
	dev_t dev;
	ino_t ino;
	struct fm_by_inode *_Atomic next;
};

/* In the struct that is kept: its `dev` and `ino` are those of the link. */
#define FM_BY_INODE                      \
	union {                          \
		struct fm_by_inode link; \
		struct {                 \
			dev_t dev;       \
			ino_t ino;       \
		};                       \
	}

#define FM_INODE_OF(l, type) ((type *)((char *)(l) - offsetof(type, link)))

struct fm_inode_table {
	struct fm_by_inode *_Atomic *head;
	unsigned bits; /* of the number of heads, at least 1 */
};

#define FM_INODE_TABLE(name, heads_bits)                                \
	static struct fm_by_inode *_Atomic name##_head[1u << (heads_bits)]; \
	static const struct fm_inode_table name = { name##_head, heads_bits }

/* [any] A word of all bits of both; the upper ones are the better ones. */
static inline uint64_t fm_inode_hash(dev_t dev, ino_t ino)
{
	return ((uint64_t)ino ^ (uint64_t)dev << 40) * 0x9e3779b97f4a7c15ull;
}

/* [any] Is there any in the bucket of this file? One look, at no link. */
bool fm_inode_any(const struct fm_inode_table *t, dev_t dev, ino_t ino);
/* [any] The last that was added of this file, and the one before; NULL: there
 * is none. */
struct fm_by_inode *fm_inode_first(const struct fm_inode_table *t, dev_t dev,
				   ino_t ino);
struct fm_by_inode *fm_inode_next(const struct fm_by_inode *l);

/* [any] `dev` and `ino` are there. */
void fm_inode_add(const struct fm_inode_table *t, struct fm_by_inode *l);
/* [any] Unless there is one of this file: that one is returned, else l. For
 * tables of which nothing is taken out. */
struct fm_by_inode *fm_inode_add_once(const struct fm_inode_table *t,
				      struct fm_by_inode *l);
/* [any] One at a time, in one table. */
void fm_inode_remove(const struct fm_inode_table *t, struct fm_by_inode *l);
/* [any] All, while nobody else has the table. */
void fm_inode_clear(const struct fm_inode_table *t);
