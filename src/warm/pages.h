/* SPDX-License-Identifier: MIT */
/*
 * pages.h - which pages of a file were hot: two bits each.
 *
 * In memory of its own, which the kernel backs where a bit is set; so it may be
 * made in the guardian, too. [any]
 */
#pragma once

#include "base/types.h"

/* How hot. FM_HOT_PAST: the cache had evicted it, or only the page cache has
 * it. FM_HOT_MAIN: it had come back after an eviction. */
enum { FM_HOT_NONE, FM_HOT_PAST, FM_HOT_RESIDENT, FM_HOT_MAIN };
#define FM_HOT_LEVELS 4

/* Of larger files the first TiB. */
#define FM_WARM_MOST ((uint64_t)1 << 28) /* size: pages: a TiB */

struct fm_warm_pages {
	uint64_t n;     /* pages of the file */
	uint8_t *level; /* four pages a byte; NULL: nothing is known */
};

/* For a file of so many pages. 0 or -ENOMEM. */
int fm_warm_pages_make(struct fm_warm_pages *p, uint64_t n);
void fm_warm_pages_free(struct fm_warm_pages *p);

static inline unsigned fm_warm_level(const struct fm_warm_pages *p, uint64_t i)
{
	return i < p->n ? p->level[i / 4] >> i % 4 * 2 & 3 : 0;
}

static inline void fm_warm_set(struct fm_warm_pages *p, uint64_t i,
			       unsigned level)
{
	uint8_t *at = &p->level[i / 4];

	if (i < p->n)
		*at = (uint8_t)((*at & ~(3u << i % 4 * 2)) |
				level << i % 4 * 2);
}

/* The hotter of the two holds. */
static inline void fm_warm_raise(struct fm_warm_pages *p, uint64_t i,
				 unsigned level)
{
	if (i < p->n && level > fm_warm_level(p, i))
		fm_warm_set(p, i, level);
}

/* The first page from i on that is at least so hot, or n. */
uint64_t fm_warm_next(const struct fm_warm_pages *p, uint64_t i,
		      unsigned level);
/* How many pages there are of each level. */
void fm_warm_count(const struct fm_warm_pages *p,
		   uint64_t ret[FM_HOT_LEVELS]);
/* Pages of `from` as far as `to` has them, `by` levels cooler. */
void fm_warm_merge(struct fm_warm_pages *to, const struct fm_warm_pages *from,
		   unsigned by);
