/* SPDX-License-Identifier: MIT */
/*
 * behind.h - what a stream has passed leaves the cache: always with
 * drop-behind, and with MADV_SEQUENTIAL when the cache is nearly full. The
 * chunk before the one that the reader is in stays, for other threads that read
 * along. [fault]
 */
#pragma once

#include "base/types.h"
#include "map/map.h"

struct fm_behind {
	int64_t lo, hi; /* pages [lo, hi) of the mapping; empty: nothing */
};

/* Under the lock of its streams: the reader of s, a stream of m, has come to
 * the chunk [first, first + n). What it has passed since the last call. */
struct fm_behind fm_behind_claim(const struct fm_map *m, struct fm_stream *s,
				 int64_t first, int64_t n);
/* It leaves, but for what is pinned, dirty or locked. Without that lock. */
void fm_behind_drop(struct fm_map *m, struct fm_behind b);
