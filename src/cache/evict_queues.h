/* SPDX-License-Identifier: MIT */
/*
 * evict_queues.h - the queues of the eviction policies (evict_policy.h), in
 * shards and pools, and whose turn it is to give something. Knows of an entry
 * only how much it weighs. All [fault], unless it says more.
 */
#pragma once

#include "queue.h"

#define FM_EVICT_SHARDS 8
#define FM_EVICT_POOLS 64 /* a bit each in shares.c */
#define FM_EVICT_UNIT (1ull << 35) /* bits: an entry of 512 pages */

/* Whose pages they are (shares.h). */
enum {
	FM_POOL_NORMAL, /* of files without keys */
	FM_POOL_STREAMED, /* likewise, of those that stream (streaming.h) */
	FM_POOL_LOW,
	FM_POOL_HIGH,
	FM_POOL_PINNED,
	FM_POOL_OWN, /* from here on: of one file each */
};

/* The queue for a page with this mark. `policy` is a row of
 * policy/evictions.def. */
struct fm_evict_list {
	struct fm_queue q;
	_Atomic int64_t pages;
	bool newest_first;
};

/* [plain] reset: in the child of fork; start comes after it. */
void fm_evict_start(void);
void fm_evict_reset(void);

/* [plain] A pool is used from now on. */
void fm_evict_use(unsigned pool);
/* Pools from this one on were never used. */
unsigned fm_evict_pools(void);

/* Where a page with this mark belongs. `policy` is a row of
 * policy/evictions.def. */
struct fm_evict_list *fm_evict_list(unsigned shard, unsigned pool,
				    unsigned policy, bool mark);
void fm_evict_push(struct fm_evict_list *l, uint64_t e);
bool fm_evict_pop(struct fm_evict_list *l, uint64_t *ret);
/* Entry e was popped, and stays: it is the last to be popped again. */
void fm_evict_return(struct fm_evict_list *l, uint64_t e);

/* The policy that gives up something next: files of several policies lose pages
 * in turns, by how many entries they have (fm_evict_entries). */
unsigned fm_evict_turn(unsigned shard, unsigned pool);
uint64_t fm_evict_entries(unsigned shard, unsigned pool, unsigned policy);
/* A number below `all`. They fall evenly. */
uint64_t fm_evict_step(unsigned shard, uint64_t all);
/* Pages that the entries of a pool stand for, stale ones included. */
uint64_t fm_evict_pages(unsigned shard, unsigned pool);
/* The queue that the policy takes them from; it may be empty. */
struct fm_evict_list *fm_evict_victims(unsigned shard, unsigned pool,
				       unsigned policy);
