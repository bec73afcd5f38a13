/* SPDX-License-Identifier: MIT */
/* install.h - pages become present: in memory, in their mode bytes and in an
 * eviction queue. [fault] */
#pragma once

#include "base/types.h"

/* Copy n loaded pages into m at page i and account for them, all but the charge
 * to the cache; their locks are held by the caller. `store`: they arrive
 * writable and dirty. Pages installed: fewer than n when a later one failed,
 * -errno when the first did. */
long fm_install(struct fm_map *m, uint64_t i, const void *src, uint64_t n,
	       bool store);
