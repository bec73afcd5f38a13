/* SPDX-License-Identifier: MIT */
/*
 * zap_batch.h - pages of one mapping that leave memory together.
 *
 * Taking a page out costs a system call and a TLB flush, which interrupts
 * every other CPU of the program, for one page as for five hundred.
 */
#ifndef FM_ZAP_BATCH_H
#define FM_ZAP_BATCH_H

#include <stdbool.h>
#include <stdint.h>

struct fm_map;

struct fm_drop {
	bool stay_locked; /* the caller's locks: not given back */
	struct fm_map *m;
	uint64_t first, n; /* neighbours, locked, still present */
};

/* [fault] Page i of m joins; it is present, nobody uses it, and the caller has
 * locked it. Who waits for a lock while pages have joined calls fm_drop_now
 * first. */
void fm_drop_page(struct fm_drop *d, struct fm_map *m, uint64_t i);

/* [fault] All that have joined are gone, and unlocked. */
void fm_drop_now(struct fm_drop *d);

#endif
