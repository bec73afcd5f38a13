/* SPDX-License-Identifier: MIT */
/*
 * huge.h - 2 MiB frames: huge pages that device transfers fill and
 * UFFDIO_MOVE carries into a mapping and out again, without a copy.
 *
 * A frame is a 2 MiB slot of engine memory. It is full (its huge page is
 * there) or hollow (the page has moved into a mapping). Eviction of a huge
 * unit refills a hollow frame; when none comes back, a fresh huge page is
 * made. All [fault] safe except start and reset.
 */
#ifndef FM_HUGE_H
#define FM_HUGE_H

#include "types.h"

struct fm_frame {
	char *mem;              /* FM_HUGE bytes, aligned to that */
	struct fm_frame *next;
	bool full;
};

/* n frames; 0, or a kernel without UFFDIO_MOVE, turns huge frames off. */
int fm_huge_start(unsigned n);
void fm_huge_reset(void);

/* A full frame, or NULL when all are in use. */
struct fm_frame *fm_frame_get(void);
/* Give back, full or hollow. */
void fm_frame_put(struct fm_frame *fr);

/* May pages of m be moved in at i? Only memory that the program cannot store
 * to: a move drops write protection for a moment. */
bool fm_huge_fits(struct fm_map *m, uint64_t i);
/* Move a filled frame into m at page i, all 512 pages locked by the caller
 * and absent. 0 (the frame is hollow now) or -errno (nothing happened). */
int fm_huge_install(struct fm_map *m, uint64_t i, struct fm_frame *fr);

/* Evict the unit at i. Pages evicted, 0 when it is no unit any more (its
 * pages are queued one by one now), -EBUSY when it must stay. */
long fm_huge_evict(struct fm_map *m, uint64_t i);

#endif
