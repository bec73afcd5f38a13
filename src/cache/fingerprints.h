/* SPDX-License-Identifier: MIT */
/*
 * fingerprints.h - a table of what left the cache not long ago: a fingerprint
 * and a time, one word a slot, in one of four slots, of which the oldest goes
 * first. A guess, for it is small, and hashed. Time is what has been evicted,
 * in parts of the cache, so that 16 bits last a while. No locks.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define FM_CACHE_PARTS 64 /* unit: of the cache, in which time is counted */

struct fm_fingerprints {
	_Atomic(_Atomic uint32_t *) slots; /* or NULL: not yet */
	uint64_t mask;
};

/* [plain] By one thread at a time: for a cache of so many pages, once. 0 or
 * -ENOMEM. */
int fm_fingerprints_start(struct fm_fingerprints *t, uint64_t pages);
/* [fault] Pages of a part. */
uint64_t fm_fingerprints_part(void);
/* [fault] The time when so many pages have been evicted. */
uint32_t fm_fingerprints_time(uint64_t evicted);
/* [fault] What has hash h left at this time. The table has begun. */
void fm_fingerprints_add(struct fm_fingerprints *t, uint64_t h, uint32_t at);
/* [fault] Parts of the cache that were evicted since, if it is remembered: one
 * cache of evictions, as S3-FIFO's ghosts are. Else -1. */
int fm_fingerprints_age(struct fm_fingerprints *t, uint64_t h, uint32_t at);
/* [fault] What has hash h, which is remembered, is there again. */
void fm_fingerprints_forget(struct fm_fingerprints *t, uint64_t h);
