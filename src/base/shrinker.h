/* SPDX-License-Identifier: MIT */
/*
 * shrinker.h - whoever holds memory that can be given back says how, once,
 * before it holds any; who needs memory asks all of them and knows none.
 *
 *	static FM_FAULT uint64_t trim(uint64_t want) ...
 *
 *	static struct fm_shrinker shrinker FM_FAULT_CALLS = {
 *		.name = "unmap cache", .order = 1, .trim = trim,
 *		.fault_safe = true,
 *	};
 *
 *	fm_shrinker_add(&shrinker);
 *
 * Two kinds. What a fault_safe one holds counts as cached
 * (file/cache_account.h), though nobody has it mapped: it goes before mapped
 * pages are evicted. Its trim is called in fault context, by any thread, which
 * may hold a page lock and holds an epoch: it only tries for locks, and takes
 * what it frees off the account. The others have memory beside the cache,
 * buffers that are idle; they are asked while others leave the cache too
 * little, by a thread of ours that may have none of our descriptors.
 */
#ifndef FM_SHRINKER_H
#define FM_SHRINKER_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

struct fm_shrinker {
	const char *name;
	int order; /* the least is asked first */
	bool fault_safe;
	/* Gives about `want` pages back; returns how many. */
	uint64_t (*trim)(uint64_t want);
	_Atomic(struct fm_shrinker *) next;
};

/* [any] Add s for good. Adding it again does nothing; two threads must not add
 * it at once. */
void fm_shrinker_add(struct fm_shrinker *s);

/* [fault] The cache is full: about `want` pages; how many have been given
 * back. */
uint64_t fm_shrink_cached(uint64_t want);
/* [plain] Memory is short: all that is idle. */
void fm_shrink_idle(void);

#endif
