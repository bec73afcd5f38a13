/* SPDX-License-Identifier: MIT */
/*
 * standby.h - huge units that were evicted a moment ago: unmapped, but their
 * memory is kept, as a chunk that has landed. A touch brings the unit back
 * without a read and tells what no access bit tells us here: that it is in
 * use. All [fault] safe.
 */
#pragma once

#include "base/types.h"

/* Take the unit at page i of m, all 512 pages locked, clean and present, out
 * of the mapping. False: nothing was done. */
bool fm_standby_put(struct fm_map *m, uint64_t i);

/* Free the unit that has been in standby for too long, if there is one: pages
 * freed. Who makes room asks for it as well (base/shrinker.h). */
uint64_t fm_standby_trim(void);
