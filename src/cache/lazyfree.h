/* SPDX-License-Identifier: MIT */
/*
 * lazyfree.h - pages that were evicted as far as the budget is concerned, but
 * whose memory the kernel need not have yet: MADV_FREE has been said of it. Who
 * reads such a page finds it there, as long as nobody has needed the memory;
 * the kernel takes it as it takes page cache, without asking, and the next
 * access is a fault. So what must stay free for others (budget.h) is not idle.
 *
 * PM_PRESENT | PM_LAZY: the page shows what the file has, is write-protected
 * and clean, or is gone. Whoever drops copies because the file changes finds it
 * present. Whoever wants the bytes must not rely on it: a system call that is
 * to use one loads it anew, and so does a fault, unless it is a store and the
 * kernel hands out a copy (fm_lazyfree_take). It must never become writable,
 * nor can it be looked at in memory that is not registered with userfaultfd,
 * where it would be zeros once it has been taken.
 *
 * Entries are cache.h's, in a FIFO a shard. [fault] safe but where it says so.
 */
#pragma once

#include "evict_queues.h"
#include "map/map.h"

#define FM_LAZYFREE_SHARDS FM_EVICT_SHARDS

/* [any] How many bytes may lie so, 0: none (as long as nobody has said). */
void fm_lazyfree_allow(uint64_t bytes);
/* Lazy pages, those that the kernel has taken since included. */
uint64_t fm_lazyfree_pages(void);
/* And of the pages that were loaded anew since. */
uint64_t fm_lazyfree_entries(void);
/* [plain] How many lazy pages were to be stored to, and came into the cache
 * again for that: a growing total. */
uint64_t fm_lazyfree_stores(void);
/* [plain] Growing totals of pages that were evicted: those that could not be
 * lazy, and those that could, whether or not any may be now. */
uint64_t fm_lazyfree_firm(void);
uint64_t fm_lazyfree_may(void);
/* How many more may be. */
uint64_t fm_lazyfree_room(void);
/* Are there more lazy pages than may be? */
bool fm_lazyfree_over(void);

/* May this clean page, which is locked and about to be evicted, stay so? */
bool fm_lazyfree_wanted(struct fm_map *m, uint64_t i, _Atomic uint8_t *p);

void fm_lazyfree_push(unsigned shard, uint64_t entry);
/* An entry that was popped, or swept, and is not pushed again: its page has
 * been loaded anew since. */
void fm_lazyfree_stale(void);
/* The oldest entry of a shard, if there are more than may be. */
bool fm_lazyfree_pop(unsigned shard, unsigned shards, uint64_t *ret);

/*
 * A page that has been loaded anew, and is evicted again, has two entries, and
 * one that is unmapped leaves its own behind. Where nobody needs memory none is
 * ever popped: who pushes sweeps. In a queue that has doubled each entry is
 * looked at once: it is handed out, and pushed again if its page is lazy and
 * has not got *mark, which it is given. A page that has it has met this pass
 * already.
 */
/* This pass's, and the last one's. */
#define FM_LAZYFREE_MARKS (PM_QUEUED | PM_MAIN)
bool fm_lazyfree_sweep(unsigned shard, uint64_t *ret, uint8_t *mark);

/* The caller holds the page's lock, and an epoch. Page i is dropped, because it
 * is to be loaded anew though it may still be there. Who has come to it page by
 * page, storing, or by system calls, goes on: as many as have been passed are
 * dropped along with it, or each would be read alone. */
void fm_lazyfree_pass(struct fm_map *m, uint64_t i, bool store);
/* May fm_lazyfree_take be asked? Where a system call's fault is served as the
 * program's are, it would wait for who holds the lock; a sandbox may end the
 * process for the call. */
bool fm_lazyfree_tells(void);
/* As fm_lazyfree_pass, for a store alone: the bytes of page i into buf, if it
 * is still there, and it is dropped. False: the kernel has taken it, and
 * nothing has happened. */
bool fm_lazyfree_take(struct fm_map *m, uint64_t i, void *buf);
/* Which of the pages [i, i + n) has the kernel taken? They are present no more.
 * The caller holds no lock among them but that of page `mine`. */
void fm_lazyfree_look(struct fm_map *m, uint64_t i, uint64_t n, uint64_t mine);
/* [plain] In the child of fork. */
void fm_lazyfree_reset(void);
