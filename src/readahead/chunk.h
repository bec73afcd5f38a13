/* SPDX-License-Identifier: MIT */
/*
 * chunk.h - data read ahead: in flight or landed, not yet mapped.
 *
 * One thread of ours submits and reaps the reads (a thread of the program that
 * did so could see EINTR from its own system calls when they complete). The
 * first touch of any page of a landed chunk maps all of it, by moving the 2 MiB
 * frame in where the memory allows it, by copying otherwise.
 *
 * Chunks are in the cache's table (cache/chunk_table.h). One that is marked
 * dead is never mapped. All [fault], unless it says more.
 */
#pragma once

#include "base/types.h"

/* Begin reading n pages (1..512) of m from page i, or fewer, where
 * fm_tune.ahead_gap in a row are present already. `eager`: map it when it
 * lands, without waiting for a touch. Returns the pages covered, 0 when there
 * is nothing to do, -EAGAIN when no buffer is free. */
long fm_chunk_read(struct fm_map *m, uint64_t i, uint64_t n, bool eager);

/* Of n pages of m from page i on, as many as no chunk has; *ret_skip: those
 * before that are under way or read already, or in units of the standby list,
 * and come when they are touched. */
uint64_t fm_chunk_uncovered(const struct fm_map *m, uint64_t i, uint64_t n,
			    uint64_t *ret_skip);

/* Wait for the chunk over page i and map it into m. Sets the range that it
 * covered, in pages of m, and whether it was still to come. False: no chunk
 * there. */
bool fm_chunk_take(struct fm_map *m, uint64_t i, int64_t *ret_first,
		   uint64_t *ret_n, bool *ret_late);

/* The data of these file pages is about to be changed, or has been. This does
 * not wait, and the pages may be locked. */
void fm_chunk_kill(struct fm_file *f, uint64_t first, uint64_t stop);
/* [any] Likewise; waits until nothing is in flight, and clears the flags. The
 * pages must not be locked. */
void fm_chunk_forget(struct fm_file *f, uint64_t first, uint64_t stop);
/* [any] Likewise, without a wait. False: something is in flight. */
bool fm_chunk_forget_landed(struct fm_file *f, uint64_t first, uint64_t stop);

/* Pages that have been mapped from chunks: a growing total. */
uint64_t fm_chunk_streamed(void);

/* [any] Ask for [i, i+n) of m to be read and mapped, in the background. */
void fm_chunk_want(struct fm_map *m, uint64_t i, uint64_t n, uint64_t tickets);
