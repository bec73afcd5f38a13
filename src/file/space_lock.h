/* SPDX-License-Identifier: MIT */
/*
 * space_lock.h - the lock of the address space: mmap, munmap and their
 * relatives, the table of files and their lists of mappings change under it.
 */
#ifndef FM_SPACE_LOCK_H
#define FM_SPACE_LOCK_H

#include <stdbool.h>
#include <stdint.h>

/* Lock order 1. Blocks signals while held. [any] */
void fm_space_lock(uint64_t *ret_mask);
bool fm_space_trylock(uint64_t *ret_mask); /* [fault] */
void fm_space_unlock(const uint64_t *mask); /* [fault] */
bool fm_space_locked(void);
/* Who is about to wait for the holder: debug builds assert the lock order. */
void fm_space_may_wait(void);

/* The holder hides a range that programs may still use (MAP_FIXED over it,
 * mremap): faults that find nothing, and who asks what is there, wait until it
 * unlocks. */
void fm_space_hiding(uintptr_t start, uintptr_t end);
/* [fault] Is something there perhaps hidden right now, by another thread? */
bool fm_space_hides(uintptr_t start, uintptr_t end);
/* [fault] What it said before the look that found nothing. True: something was
 * hidden then, or since, and is not any more: look again. */
uint32_t fm_space_shown(void);
bool fm_space_wait_hidden(uint32_t before);

#endif
