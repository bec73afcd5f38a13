/* SPDX-License-Identifier: MIT */
/*
 * cache.h - what leaves when the budget (file/cache_account.h) is spent.
 *
 * Who leaves is decided by a policy (evict_policy.h): by default S3-FIFO cut
 * down to what can be known without access bits. Queues are sharded by file
 * page; entries name a page of a mapping and may be stale, the mode byte is the
 * truth.
 *
 * All [fault] safe except start.
 */
#pragma once

#include "file/file.h"

/* Room for n more pages of f; evicts when the budget is spent. The caller may
 * hold one page lock (and holds an epoch). Never fails: when nothing can leave
 * at once (all dirty, locked or pinned) it waits for write-back, and as a last
 * resort goes over budget by what the threads in flight need. */
void fm_cache_charge(struct fm_file *f, uint64_t n);

/* A page has become present; its lock is held, and an epoch, or the space lock.
 * Puts it into a queue unless it still has an entry. */
void fm_cache_insert(struct fm_map *m, uint64_t i);
/* Add an entry; no lock needed. A page that has become part of a unit since it
 * was entered needs that entry no more. One that may have been entered because
 * its unit was cut (FM_ENTRY_PART) does. */
enum fm_entry { FM_ENTRY_PAGE, FM_ENTRY_UNIT, FM_ENTRY_PART };
void fm_cache_enqueue(struct fm_map *m, uint64_t i, bool hot,
		      enum fm_entry kind);
/* fm_cache_enqueue for a page that has an entry already, or is lazy
 * (lazyfree.h), and has moved. */
void fm_cache_requeue(struct fm_map *m, uint64_t i);

/* Evict about n pages; returns how many left. Caller holds an epoch. */
uint64_t fm_cache_evict(uint64_t n);
/* Drop lazy pages, where there are more than may be. In an epoch. */
void fm_cache_trim_lazy(void);

/* The rest of what other rooms may use. */
#include "chunk_table.h"
#include "collapse.h"
#include "frame.h"
#include "ghost.h"
#include "huge.h"
#include "install.h"
#include "lazyfree.h"
#include "mem_monitor.h"
#include "shares.h"
#include "standby.h"
#include "streaming.h"
#include "unmapped.h"
