/* SPDX-License-Identifier: MIT */
/*
 * drain.h - what is in flight ends before somebody needs it under the space
 * lock.
 *
 * Only a device ends its reads and writes, and it may never answer. Who waited
 * for that with the space lock would hold up each mmap and fork of the process,
 * of whatever file. So the lock is let go meanwhile (fm_space_yield).
 */
#pragma once

#include "base/types.h"

/* [any] In an epoch, or under the space lock: true when no page of the range
 * of f is locked or being written any more; false after `ms` milliseconds.
 * `ahead`: nor read ahead, and what was is forgotten. Lasts where f is held. */
bool fm_file_lands(struct fm_file *f, uint64_t first, uint64_t stop, bool ahead,
		   uint64_t ms);
/* [plain] Under the space lock, which others may have meanwhile: until it is
 * so. Faults on f wait as long. */
void fm_file_drain(struct fm_file *f, uint64_t first, uint64_t stop);

enum fm_drain {
	FM_DRAIN_LOCKS,   /* page locks are going to be waited for */
	FM_DRAIN_REMOVES, /* and for chunks, and what is dirty is written */
};
/* [plain] Likewise, for what is mapped in a range: the first thing after the
 * lock has been taken, for all that was looked at may have changed. A read that
 * begins between this and what follows is waited for there, under the lock. */
void fm_range_drain(uintptr_t start, uintptr_t end, enum fm_drain how);
