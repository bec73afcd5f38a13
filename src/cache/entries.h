/* SPDX-License-Identifier: MIT */
/*
 * entries.h - what stands for a page or a unit in the queues of eviction
 * (evict_queues.h): a word that names a page of a mapping. It may be stale; the
 * mode byte is the truth. How one gets in: cache.h. All [fault], unless it says
 * more.
 */
#pragma once

#include "cache.h"
#include "evict_queues.h"

#define FM_EVICT_PART (1ull << 34) /* bits: FM_MAX_FILE_PAGES is 2^34 */

/* [plain] Once the limit of the cache is known. */
void fm_entry_start(void);
unsigned fm_entry_shards(void);

/* The page that e names: its mapping, or NULL, and its number in there. */
struct fm_map *fm_entry_map(uint64_t e, uint64_t *ret_i);
enum fm_entry fm_entry_kind(uint64_t e);
/* The page is locked: no entry stands for it any more. */
void fm_entry_forget(struct fm_map *m, uint64_t i);
/* The queue where it belongs, and the policy that says so. */
struct fm_evict_list *fm_entry_list(const struct fm_map *m, uint64_t i,
				    bool mark, enum fm_entry kind);
const struct fm_evict_policy *fm_entry_policy(const struct fm_map *m);
