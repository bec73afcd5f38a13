/* SPDX-License-Identifier: MIT */
/*
 * frame.h - 2 MiB frames: slots of engine memory, each to hold one huge page,
 * which device transfers fill and UFFDIO_MOVE carries into a mapping.
 *
 * A frame is full (its huge page is there) or hollow (the page has moved into
 * a mapping). What is evicted from a mapping fills hollow frames again; when
 * none comes back, a fresh huge page is made.
 *
 * Fresh memory can be dear: where the host of a virtual machine has taken back
 * what was free, the first touch of 2 MiB takes milliseconds, more than copying
 * the pages. Then moving is like buying what could be rented: it is paid for
 * once, and every later move of that memory is free. So the engine buys as much
 * as it has spent on copies, which costs at most twice what the better choice
 * in hindsight would have cost (Karlin, Manasse, Rudolph and Sleator,
 * "Competitive snoopy caching", Algorithmica 1988).
 *
 * All [fault] safe unless said.
 */
#pragma once

#include "base/types.h"
#include "base/up.h"

#define FM_FRAMES 32 /* size: frames for transfers, at most */
#define FM_STANDBY 128 /* size: units in standby, at most */

struct fm_frame {
	char *mem;              /* FM_HUGE bytes, aligned to that */
	struct fm_frame *next;
	bool full;
	bool mapped;            /* memory can be moved in */
	bool standby;           /* its memory is part of the cache, or takes the
				   place of what is */
};

/* There may be a frame to buy or to make, by a thread that has descriptors. */
FM_UPCALL(void, frame_wanted, void);
/* [plain] At most n frames hold memory for transfers; `standby` more slots take
 * what was evicted last. n of 0, or a kernel without UFFDIO_MOVE, turns huge
 * frames off. 0 or -ENOMEM. */
int fm_frame_start(unsigned n, unsigned standby);
/* [plain] How many frames for transfers a cache of that size is to have. */
unsigned fm_frame_share(uint64_t cache_bytes);
/* [plain] The cache is of that size now: frames have their share of it, or less
 * when they began with less, or up to twice as much while that is wished. Bytes
 * that they may hold. */
uint64_t fm_frame_allow(uint64_t cache_bytes);
/* [fault] Transfers would fill n frames now. */
void fm_frame_wish(uint64_t n);
/* [plain] What waits for a use gives its memory back; it is made anew. */
void fm_frame_rest(void);
bool fm_frame_on(void);
/* Frames that transfers may fill with fresh memory. */
uint64_t fm_frame_limit(void);
/* How many more they may be for now, in half of what the cache has not
 * filled yet: they become a part of it when they are mapped. */
uint64_t fm_frame_lent(void);

/* A full frame, or NULL when all are in use. May make one: nothing that others
 * wait for should be held. A thread of ours without the program's descriptors
 * cannot: NULL, and there may be one soon. */
struct fm_frame *fm_frame_get(void);
/* [plain] Make the one that such a thread has asked for. */
void fm_frame_make_wanted(void);
/* A hollow frame that can take evicted memory, or NULL. */
struct fm_frame *fm_frame_get_hollow(void);
/* [any] A frame whose memory surely is one huge page, besides those that
 * transfers may hold, or NULL. */
struct fm_frame *fm_frame_get_huge(void);
/* Move 2 MiB of memory to where nothing is: 0 or -errno, -EXDEV when a part has
 * moved, or perhaps all. */
int fm_frame_move(void *dst, void *src);
/* Take the unit at page i of m into a hollow frame. False: it stays hollow,
 * and all, a part (the kernel moves by pieces) or nothing is left in m. */
bool fm_frame_fill(struct fm_frame *fr, struct fm_map *m, uint64_t i);
/* The memory of the frame has gone into a mapping. */
void fm_frame_gone(struct fm_frame *fr);
/* Give back, full or hollow. */
void fm_frame_put(struct fm_frame *fr);
/* The unit at page i of m is evicted: its memory becomes that of a frame, or
 * the kernel's. */
void fm_frame_take(struct fm_map *m, uint64_t i);

/* Is a frame that has landed to be moved? Yes if its memory is easily replaced:
 * by what is evicted, by fresh memory, or by what was bought. Else it is to be
 * copied. */
bool fm_frame_pays(void);
/* Copying a whole frame took ns. */
void fm_frame_copied(uint64_t ns);
/* [plain] Buy memory for one frame if enough was spent on copies. False: there
 * was no need, or it cannot be had. */
bool fm_frame_buy(void);
