/* SPDX-License-Identifier: MIT */
/*
 * heap_file.h - the file of libfastmap-heap.so (heap_calls.h), which nobody
 * else can see and which ends with the process: it is written only to make
 * room, and each child of fork has a copy.
 */
#pragma once

#include "base/types.h"

/* [any] May another serve f because that is faster? Not an ephemeral file: the
 * kernel would write it after a while, and could copy it for no fork. */
bool fm_may_change(const struct fm_file *f);

/* [any] For the statistics: bytes. used: that the program has of it, or
 * UINT64_MAX: not counted yet. ask: count them for the next time. False: there
 * is none. */
struct fm_heap_bytes {
	uint64_t most, in_file, in_memory, used;
};
bool fm_heap_bytes_of(struct fm_heap_bytes *ret, bool ask);
/* [any] Is f that file? What may be done with it says f->ephemeral. */
bool fm_is_heap(const struct fm_file *f);

/*
 * Pages of it that nobody has written are zero, and not read: known from the
 * engine's first mapping of it, before malloc has had any of it, for as long as
 * nobody but write-back stores to the file. Which pages of a file are such is
 * only looked at where they cannot be written meanwhile (locked, FP_AHEAD).
 */
/* [plain] f has been opened by the engine, the file is of so many pages: says
 * whether it is ephemeral. */
void fm_heap_opened(struct fm_file *f, uint64_t pages);
/* [any] Others may store to f from now on. */
void fm_heap_shared(const struct fm_file *f);
/* [fault] Is f the heap's file, and have none of these been written? */
bool fm_heap_blank(const struct fm_file *f, uint64_t fp, uint64_t n);
/* [fault] Has the heap asked for the blocks of all that it gave out? A copy,
 * in a child, has those of what had been written. */
bool fm_heap_has_room(const struct fm_file *f);
/* [fault] Before these are written. */
void fm_heap_writes(const struct fm_file *f, uint64_t fp, uint64_t n);
/* [any] Pages fp up to stop are locked, and not in the file any more. */
void fm_heap_freed(const struct fm_file *f, uint64_t fp, uint64_t stop);

/* [plain] Before a fork. held: nothing is stored to it until that is over. */
void fm_heap_copy(bool held);
