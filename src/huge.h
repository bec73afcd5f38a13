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

#define FM_FRAMES 24   /* frames for transfers, at most */
#define FM_STANDBY 128 /* units in standby, at most */

struct fm_frame {
	char *mem;              /* FM_HUGE bytes, aligned to that */
	struct fm_frame *next;
	bool full;
	bool mapped;            /* memory can be moved in */
	bool standby;           /* its memory is part of the cache, or takes the
				   place of what is */
};

/* At most n frames hold memory for transfers; `standby` more slots take what
 * was evicted last. n of 0, or a kernel without UFFDIO_MOVE, turns huge
 * frames off. */
int fm_huge_start(unsigned n, unsigned standby);
void fm_huge_reset(void);

/* A full frame, or NULL when all are in use. */
struct fm_frame *fm_frame_get(void);
/* A hollow frame that can take evicted memory, or NULL. */
struct fm_frame *fm_frame_get_hollow(void);
/* Take the unit at page i of m into a hollow frame. False: it stays hollow,
 * and nothing or (the kernel moves by pieces) a part is left in m. */
bool fm_frame_fill(struct fm_frame *fr, struct fm_map *m, uint64_t i);
/* Give back, full or hollow. */
void fm_frame_put(struct fm_frame *fr);

/* May pages of m be moved in at i? Only memory that the program cannot store
 * to: a move drops write protection for a moment. */
bool fm_huge_fits(struct fm_map *m, uint64_t i);
/* Is it better to move a frame than to copy its pages and keep it? Yes if its
 * memory is easily replaced: by what is evicted, or by fresh memory. */
bool fm_huge_pays(void);
/* Copying a whole frame took ns. */
void fm_huge_copied(uint64_t ns);
/* Move a filled frame into m at page i, all 512 pages locked by the caller
 * and absent; `hot`: into the main queue. 0 (the frame is hollow now) or
 * -errno (nothing happened). */
int fm_huge_install(struct fm_map *m, uint64_t i, struct fm_frame *fr,
		    bool hot);

/* Evict the unit at i, to the standby list if `keep`. Pages that memory was
 * won of, 0 when none (it is in standby, or no unit any more and its pages
 * are queued one by one), -EBUSY when it must stay. */
long fm_huge_evict(struct fm_map *m, uint64_t i, bool keep);

/* Are all 512 pages from i on there, one by one, clean and idle? A guess, unless
 * they are locked. */
bool fm_huge_loose(struct fm_map *m, uint64_t i);
/* [plain] Turn 512 present pages of m from i on, which were copied in one by
 * one, into a unit. 0, -EBUSY when they are not all there, clean and idle, and
 * -ENOMEM without a huge page. */
int fm_huge_collapse(struct fm_map *m, uint64_t i);

#endif
