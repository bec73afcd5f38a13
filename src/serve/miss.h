/* SPDX-License-Identifier: MIT */
/*
 * miss.h - what a miss brings, what that costs, and what it saves. Nothing but
 * arithmetic, for both servers: the engine chooses by it what comes along with
 * a page, and the judge what a miss costs with whoever would serve.
 *
 * Of so many misses that bring their page alone a part would have been saved,
 * had a group of n pages come with each (fault/nearby.h counts). What is left
 * of them costs a read's fixed part and n pages each. As many pages more as
 * come, leave; of these a part is missed again, each by a read.
 *
 * Before anything is counted a group of 64 is taken to save half, one of 32
 * less by a sixth of that, and so on; what is counted outweighs it soon.
 */
#pragma once

#include <stdint.h>

#define FM_MISS_SIZES 6 /* size: 2, 4, ... 64 pages */
#define FM_MISS_ALL 1024u /* unit: parts of all misses, or pages */

struct fm_miss_counts {
	uint32_t seen; /* misses that brought their page alone */
	uint32_t saved[FM_MISS_SIZES]; /* of these, had a group come */
	uint32_t back; /* of FM_MISS_ALL pages that come, missed again */
};

/* [any] Pages of group k. */
static inline uint32_t fm_miss_size(unsigned k)
{
	return 2u << k;
}

/* [any] Of FM_MISS_ALL misses of single pages, what is left with groups of n
 * pages; what is more than the largest group saves no more than that. */
uint32_t fm_miss_left(const struct fm_miss_counts *c, uint64_t n);
/* [any] What FM_MISS_ALL of them cost in groups of n, in pages of a device
 * whose reads take as long as `fixed` pages besides theirs. */
uint64_t fm_miss_cost(const struct fm_miss_counts *c, uint64_t n,
		      uint64_t fixed);
/* [any] The group that costs least; 1: none does. */
uint32_t fm_miss_group(const struct fm_miss_counts *c, uint64_t fixed);

/* With each of the two servers. The engine brings what costs least; so does the
 * kernel, of the two that it can: what it reads ahead, or where it is told so
 * pages alone. Beside these the engine reads streams: what is known of how
 * often it is waited for, and for how much, goes before what its groups say,
 * and the kernel's are counted over all pages. */
struct fm_miss {
	struct fm_miss_counts counts; /* of misses */
	struct fm_miss_counts all;    /* and of what streams bring */
	uint32_t fixed;
	uint32_t kernel; /* pages that it reads ahead; 0: not known */
	/* waits for FM_MISS_ALL pages that were asked for, and pages read for
	 * each; 0: not known */
	uint32_t waits, pages;
};

/* [any] What is left of FM_MISS_ALL with the engine, and with the kernel; 0:
 * not known. */
uint32_t fm_miss_left_engine(const struct fm_miss *m);
uint32_t fm_miss_left_kernel(const struct fm_miss *m);
/* [any] Of FM_MISS_ALL pages that the kernel reads, those that are asked for;
 * 0: not known. */
uint32_t fm_miss_worth_kernel(const struct fm_miss *m);
/* [any] What one takes with the kernel, where one of the engine's takes ns. */
uint64_t fm_miss_kernel_ns(const struct fm_miss *m, uint64_t ns);
