/* SPDX-License-Identifier: MIT */
/*
 * coherence.h - several mappings of one file agree at once (MSI over the
 * file's directory). Per page a mapping is invalid (absent), shared (present,
 * write-protected) or modified (present, writable); at most one is modified,
 * and then no other shared mapping has the page.
 *
 * All [fault] safe; the page lock is held.
 */
#pragma once

#include "base/types.h"

/* A load by m: take the data from another mapping of ours if one has it.
 * 1: page is now present in m (write-protected), 0: nobody has it, -errno. */
int fm_share_from_peer(struct fm_map *m, uint64_t i);

/* Before m's page may be stored to: nobody else keeps a copy. -EBUSY when a
 * copy is pinned by a system call in flight, -EAGAIN when one is being written
 * back (wait for FP_WB without the lock, then again). */
int fm_invalidate_peers(struct fm_map *m, uint64_t i);
