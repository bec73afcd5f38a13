/* SPDX-License-Identifier: MIT */
/*
 * huge.h - units: 2 MiB of a mapping whose memory is one huge page, moved in
 * from a frame (frame.h) and evicted as a whole, without a copy. All [fault]
 * safe unless said.
 */
#pragma once

#include "frame.h"

/* May pages of m be moved in at i? Only memory that the program cannot store
 * to: a move drops write protection for a moment. */
bool fm_huge_fits(struct fm_map *m, uint64_t i);
/* Move a filled frame into m at page i, all 512 pages locked by the caller
 * and absent; `hot`: into the main queue. 0 (the frame is hollow now) or
 * -errno (nothing happened). */
int fm_huge_install(struct fm_map *m, uint64_t i, struct fm_frame *fr,
		    bool hot);

/* Evict the unit at i, to the standby list if `keep`. Pages that memory was
 * won of, 0 when none (it is in standby, or no unit any more and its pages
 * are queued one by one), -EBUSY when it must stay. */
long fm_huge_evict(struct fm_map *m, uint64_t i, bool keep);

/* [plain] Are all 512 pages from i on there, one by one, clean and idle? A
 * guess, unless they are locked. */
bool fm_huge_loose(struct fm_map *m, uint64_t i);
/* [any] Turn 512 present pages of m from i on, which were copied in one by one,
 * into a unit. 0, -EBUSY when they are not all there, clean and idle, and
 * -ENOMEM without a huge page. */
int fm_huge_collapse(struct fm_map *m, uint64_t i);
