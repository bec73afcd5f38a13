/* SPDX-License-Identifier: MIT */
/*
 * evict_policy.h - what an eviction policy decides: where a page that comes is
 * queued, which queue has to give one, and whether that one may stay.
 *
 * Locks, page states and memory are the cache's (cache.c). A policy has
 * FM_EVICT_QUEUES FIFO queues in each shard, as many as it likes to use, and
 * one bit a page, the mark. It does not see the touches of a page that is
 * present, for the memory has no access bits here; what it can know is whether
 * a page has come back soon after it was evicted (the ghost table, ghost.h) and
 * whether it has been stored to.
 *
 * A policy is one file, policy_NAME.c, and one line of policy/evictions.def. It
 * takes no lock, has no state and includes nothing but this: it is called in
 * fault context, and the simulator (benches/evictsim) compiles the same file. A
 * callback that is NULL is the obvious: no mark, queue 0, leaves.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "base/sys.h"

#define FM_EVICT_QUEUES 2 /* a policy, in each shard */

struct fm_evict_len {
	uint64_t entries; /* stale ones included */
	int64_t pages;    /* that they stand for: 512 for a huge unit */
};

struct fm_evict_policy {
	const char *name;
	bool newest_first; /* a queue gives what came last */
	bool standby;      /* huge units rest in standby.h when they leave */
	/* A page comes; `again`: it was evicted not long ago. Its mark. */
	bool (*enter)(bool again);
	/* The queue of what comes, or of a page that needs a new entry. */
	unsigned (*queue)(bool mark);
	/* The queue that gives one; where that has none, none leaves now. */
	unsigned (*victim)(const struct fm_evict_len *len);
	/* A queue has given a page that is clean and unused, or that is
	 * dirty and could not leave. True: it stays, at the other end of its
	 * queue. */
	bool (*stays)(bool *mark, bool dirty);
};

#define FM_EVICTION(value, policy) \
	extern const struct fm_evict_policy fm_evict_##policy;
#include "evictions.def"

/* By the value of the option, in the order of policy/evictions.def. */
extern const struct fm_evict_policy *const fm_evict_policies[];

enum {
#define FM_EVICTION(value, policy) FM_EVICT_ROW_##policy,
#include "evictions.def"
	FM_EVICT_POLICIES
};
