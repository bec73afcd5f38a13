/* SPDX-License-Identifier: MIT */
/*
 * nearby.h - how many pages around the one that is missed pay for themselves,
 * as measured of each file.
 *
 * What is there already is not seen to be used, so it is measured where it is
 * not there: in one of 16 regions of 256 KiB pages come one at a time, and each
 * that is missed soon after another of its group would not have been, had the
 * group come along. So both answers are known, whichever is in use (Qureshi et
 * al., ISCA'07, section 5, duel sets of a cache likewise).
 *
 * A miss costs a read's fixed part, in pages of the device's rate, and its
 * pages. What leaves for n pages costs no more than all that comes back: it is
 * most of what is in the cache for a first time, no matter how fast.
 */
#ifndef FM_NEARBY_H
#define FM_NEARBY_H

#include "base/types.h"

#define FM_NEARBY_SIZES 3 /* size: 4, 16 and 64 pages */

struct fm_file_nearby {
	_Atomic uint32_t seen; /* misses in the regions that are measured */
	_Atomic uint32_t back; /* of these: evicted not long ago */
	_Atomic uint32_t saved[FM_NEARBY_SIZES]; /* had the group come along */
};

/* [fault] A demand read of page fp of f begins. True: in a region that is
 * measured; the page comes alone. */
bool fm_nearby_measured(struct fm_file *f, uint64_t fp);
/* [fault] As many pages as the others' groups should have; 1 where that is not
 * known. `full`: what comes along makes others leave. */
uint32_t fm_nearby_pages(const struct fm_file *f, bool full);

#endif
