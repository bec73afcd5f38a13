/* SPDX-License-Identifier: MIT */
/*
 * unmapped.h - what was there when it was unmapped, in a table of fingerprints,
 * as ghost.h has of what was evicted. The kernel keeps such pages in the page
 * cache, and who maps the file again gets them for nothing; ours are loaded
 * once more, or copied from another mapping of the file. No locks.
 */
#pragma once

#include "base/types.h"

/* [any] Under the space lock: m is hidden, its pages are locked, and what they
 * hold is about to go. */
void fm_unmapped_note(struct fm_map *m);
/* [any] These were read ahead, and go untouched since nothing maps them. Only
 * once something was unmapped. */
void fm_unmapped_note_ahead(const struct fm_file *f, uint64_t first,
			    uint64_t n);
/* [fault] Is page fp of f one of these, of less than a cache's worth of
 * evictions ago? It is none any more. */
bool fm_unmapped_back(const struct fm_file *f, uint64_t fp);
