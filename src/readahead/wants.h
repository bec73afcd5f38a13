/* SPDX-License-Identifier: MIT */
/*
 * wants.h - what MADV_WILLNEED or fastmap_prefetch has asked for and has not
 * been begun: ranges of mappings, first come first served. Ranges that continue
 * one another are one.
 * What has no room, in the queue or in the cache, is counted in the file's
 * statistics (ahead_refused). Inside readahead/ only.
 */
#pragma once

#include "base/types.h"

struct fm_want {
	uint32_t id, gen;    /* of the mapping */
	uint64_t i, end;     /* its pages */
	unsigned vain; /* times in a row that nothing could be asked for */
	uint64_t tickets; /* who waits for it: base/ticket.h */
};

/* [plain] Pages [i, i + n) of m, for these tickets. */
void fm_wants_add(struct fm_map *m, uint64_t i, uint64_t n, uint64_t tickets);
/* [any] The next one; false: there is none. */
bool fm_wants_take(struct fm_want *ret);
/* [any] The rest of it, behind all others. False: it is the only one, and
 * stays the taker's. */
bool fm_wants_back(const struct fm_want *w);

/* [plain] 0 or -ENOMEM. reset: in the child of fork. */
int fm_wants_start(void);
void fm_wants_reset(void);
