/* SPDX-License-Identifier: MIT */
/*
 * zap_batch.h - pages of one mapping that leave memory together.
 *
 * Taking a page out costs a system call and a TLB flush, which interrupts
 * every other CPU of the program, for one page as for five hundred.
 */
#pragma once

#include "base/types.h"

/* [fault] Pages [i, i + n) of m, which are present and whose locks the caller
 * holds, leave memory; the next touch is a fault again. */
void fm_cache_drop(struct fm_map *m, uint64_t i, uint64_t n);

/* [fault] May page i of m, whose state is *p and locked, not leave? 0: it may;
 * -ENOENT: it is not there, or the program's own; -EBUSY: a system call or
 * write-back uses it; -EAGAIN: it is dirty, and no other mapping of ours still
 * holds the data. */
int fm_drop_forbidden(struct fm_map *m, uint64_t i, _Atomic uint8_t *p);

struct fm_zap_batch {
	bool stay_locked; /* the caller's locks: not given back */
	struct fm_map *m;
	uint64_t first, n; /* neighbours, locked, still present */
};

/* [fault] Page i of m joins; it is present, nobody uses it, and the caller has
 * locked it. Who waits for a lock while pages have joined calls fm_zap_now
 * first. */
void fm_zap_page(struct fm_zap_batch *d, struct fm_map *m, uint64_t i);

/* [fault] If page i of m is clean and nobody uses it, it joins the others. */
void fm_zap_clean(struct fm_zap_batch *d, struct fm_map *m, uint64_t i);

/* [fault] All that have joined are gone, and unlocked. */
void fm_zap_now(struct fm_zap_batch *d);
