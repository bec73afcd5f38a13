/* SPDX-License-Identifier: MIT */
/*
 * heap_file.h - the file of libfastmap-heap.so (heap_calls.h), which nobody
 * else can see and which ends with the process: it is written only to make
 * room, and each child of fork has a copy.
 */
#pragma once

#include "base/types.h"

/* [any] Is f that file? */
bool fm_is_heap(const struct fm_file *f);

/* [any] May another serve f because that is faster? Not the heap's file: the
 * kernel would write it after a while, and could copy it for no fork. */
bool fm_may_change(const struct fm_file *f);

/* [any] For the statistics: bytes. used: that the program has of it, or
 * UINT64_MAX: not counted yet. ask: count them for the next time. False: there
 * is none. */
struct fm_heap_bytes {
	uint64_t most, in_file, in_memory, used;
};
bool fm_heap_bytes_of(struct fm_heap_bytes *ret, bool ask);

/* [plain] Before a fork. held: nothing is stored to it until that is over. */
void fm_heap_copy(bool held);
