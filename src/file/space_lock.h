/* SPDX-License-Identifier: MIT */
/*
 * space_lock.h - the lock of the address space: mmap, munmap and their
 * relatives, the table of files and their lists of mappings change under it.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* [any] Lock order: FM_RANK_SPACE. Signals are blocked while it is held;
 * *ret_mask is for the unlock. */
void fm_space_lock(uint64_t *ret_mask);
/* [fault] */
bool fm_space_trylock(uint64_t *ret_mask);
/* [fault] */
void fm_space_unlock(const uint64_t *mask);

static inline void fm_space_hold_ends(uint64_t *mask)
{
	fm_space_unlock(mask);
}

/* [any] For the rest of the block, however it is left. */
#define FM_HOLD_SPACE()                                                \
	uint64_t fm_space __attribute__((cleanup(fm_space_hold_ends))); \
	fm_space_lock(&fm_space)
/* [fault] By this thread? */
bool fm_space_locked(void);
/* [any] The holder, who hides nothing, waits for what may never come (a
 * device): others have the lock meanwhile. Signals stay blocked. After
 * fm_space_resume all that was looked at has to be looked at again, also by the
 * holder's callers: mappings and files may have gone, but for those with a
 * reference. fm_space_yields, under the lock: how often it has been so. Between
 * fm_space_keep and fm_space_keep_ends, which nest, nobody lets it go. */
bool fm_space_may_yield(void);
void fm_space_yield(void);
void fm_space_resume(void);
unsigned fm_space_yields(void);
void fm_space_keep(void);
void fm_space_keep_ends(void);
/* [any] The caller is about to wait for whoever holds the lock: debug builds
 * assert the lock order. */
void fm_space_may_wait(void);

/* [any] The holder hides a range that programs may still use (MAP_FIXED over
 * it, mremap). Faults that find nothing, and who asks what is there, wait until
 * it unlocks. */
void fm_space_hiding(uintptr_t start, uintptr_t end);
/* [fault] May another thread be hiding something in the range right now? */
bool fm_space_hides(uintptr_t start, uintptr_t end);
/* [fault] Before a look that finds nothing: how often something has been
 * hidden. Then fm_space_wait_hidden(that): true if something was hidden during
 * the look or since, and is not any more: look again. */
uint32_t fm_space_shown(void);
bool fm_space_wait_hidden(uint32_t before);
