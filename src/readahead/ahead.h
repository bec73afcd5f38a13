/* SPDX-License-Identifier: MIT */
/*
 * ahead.h - readahead: streams, and what is in flight or landed for them
 * (after Choi et al., HotStorage'17, and Linux readahead's window).
 */
#pragma once

#include "base/types.h"

struct fm_seen;

/* [fault] A fault of m was resolved: note it, and start what the stream asks
 * for. Holds an epoch, no page lock. */
void fm_ahead_fault(struct fm_map *m, const struct fm_seen *e);

/* [fault] Pages that the streams of a mapping have ahead at most, whatever its
 * policy says. */
uint64_t fm_ahead_most(void);

/* [fault] The page is covered by a chunk: wait until it has landed and map
 * it. who: a hash of the reader. Returns its pages, from *ret_first of m; 0:
 * the chunk is gone, go on with a load. */
uint64_t fm_ahead_take(struct fm_map *m, uint64_t i, uint32_t who,
		       int64_t *ret_first);

/* [any] Read [i, i + n) of m soon (WILLNEED, POPULATE, prefetch): at most what
 * the cache takes. tickets: who waits for it, a mask (base/ticket.h). */
void fm_ahead_want(struct fm_map *m, uint64_t i, uint64_t n, uint64_t tickets);

/* [any] Forget streams and landed data of m. Waits for what is in flight there.
 * The caller has locked none of the pages. For a range of a file: chunk.h. */
void fm_ahead_forget(struct fm_map *m);
