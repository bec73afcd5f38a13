/* SPDX-License-Identifier: MIT */
/*
 * shrinker.h - whoever holds memory that can be given back says how; who needs
 * memory asks all of them and knows none.
 *
 *	static FM_FAULT uint64_t trim(uint64_t want) ...
 *
 *	FM_SHRINKER(unmap_cache, .order = FM_SHRINK_FIRST, .trim = trim)
 *	FM_UP(shrink_idle, trim_buffers)
 *
 * Two kinds, both upcalls (up.h). What a shrinker holds counts as cached
 * (file/cache_account.h), though nobody has it mapped: it goes before mapped
 * pages are evicted. Its trim is called in fault context, by any thread, which
 * may hold a page lock and holds an epoch: it only tries for locks, and takes
 * what it frees off the account. The others have memory beside the cache,
 * buffers that are idle; they are asked while others leave the cache too
 * little, by a thread of ours that may have none of our descriptors.
 */
#pragma once

#include <stdint.h>

#include "sys.h"
#include "up.h"

enum fm_shrink_order { FM_SHRINK_FIRST, FM_SHRINK_NEXT, FM_SHRINK_ORDERS };

struct fm_shrinker {
	enum fm_shrink_order order;
	/* [fault] Gives about `want` pages back; returns how many. */
	uint64_t (*trim)(uint64_t want);
};

#define FM_SHRINKER(name, ...)                                            \
	static const struct fm_shrinker shrinker_##name FM_FAULT_CALLS =  \
		{ __VA_ARGS__ };                                          \
	FM_UP(shrinker, shrinker_##name)

FM_UP_STRUCT(const struct fm_shrinker, shrinker);
/* [plain] All that is idle. */
FM_UPCALL(void, shrink_idle, void);

/* [fault] The cache is full: about `want` pages; how many have been given
 * back. */
uint64_t fm_shrink_cached(uint64_t want);
/* [plain] Memory is short: all that is idle. */
void fm_shrink_idle(void);
