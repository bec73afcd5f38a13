/* SPDX-License-Identifier: MIT */
/*
 * ghost.h - what was evicted not long ago, in a table of fingerprints
 * (S3-FIFO's ghost queue, Yang et al., SOSP'23, section 4). All [fault], unless
 * it says more.
 */
#pragma once

#include "base/types.h"
#include "base/up.h"

/* [plain] For a cache of so many pages. 0 or -ENOMEM. */
int fm_ghost_start(uint64_t pages);

/* Page i of m has just been evicted. */
void fm_ghost_add(const struct fm_map *m, uint64_t i);
/* So many pages have been evicted: the time of ghosts goes on, and that of
 * whoever answers. */
void fm_ghost_pass(uint64_t pages);
FM_UPCALL(void, ghost_passed, uint64_t pages);
/* A unit has been moved in; has left. Its pages are no ghosts: they come back
 * together, and streaming.h counts them. */
void fm_ghost_came_unit(struct fm_file *f, uint64_t fp);
void fm_ghost_left_unit(const struct fm_file *f, uint64_t fp);
/* Was this page of the file evicted less than a cache's worth of evictions
 * ago? */
bool fm_ghost_has(const struct fm_file *f, uint64_t fp);
/* Like fm_ghost_has, of a page that has just been loaded again: it counts. */
bool fm_ghost_back(struct fm_file *f, uint64_t fp);

/* [plain] Growing totals of pages: evicted; of them, loaded again while
 * remembered; and evicted while each of these was gone, summed. */
uint64_t fm_ghost_evicted(void);
uint64_t fm_ghost_came_back(void);
uint64_t fm_ghost_away(void);
/* [plain] Evicted, the pages of units as well. */
uint64_t fm_ghost_left(void);

/* Hash of page, or other part, n of f. */
uint64_t fm_ghost_hash(const struct fm_file *f, uint64_t n);
