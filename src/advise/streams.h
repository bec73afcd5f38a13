/* SPDX-License-Identifier: MIT */
/*
 * streams.h - what streams (readahead/detect.h) will touch next, read ahead for
 * them where the kernel does not.
 *
 * A stream that runs backward, or by steps of 64 KiB, waits for a small read at
 * each fault where the kernel reads ahead by 128 KiB. That is seen from the
 * bytes that are read for a fault that waits. What is sure to go on is read in
 * huge pieces (advised.c), the rest is asked for here. The helper thread's own.
 * [plain]
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

struct fm_advised_use;

/* A row of pages of range `id` has been touched. */
struct fm_row {
	uint32_t id;
	uintptr_t start, end;
	bool slow; /* a read for each page: MADV_RANDOM */
};
void fm_streams_touched(const struct fm_row *r);
/* The reader of a row waits, a read for each page: this comes next, perhaps. */
void fm_streams_slow(uint32_t id, uintptr_t start, uintptr_t end);

/* After the rows of a look have been told: use of the time since the last, and
 * the bytes of memory that there are. Waits for the device. huge: what is sure
 * (fm_streams_reach) is not read ahead here. */
void fm_streams_ahead(const struct fm_advised_use *use, uint64_t memory,
		      bool huge);
/* After that: what they have passed is what the kernel evicts first, where
 * memory is short. files: bytes of all ranges. */
void fm_streams_behind(uint64_t files, uint64_t memory);

/* Does a stream come to [lo, hi) of range id soon that is read faster in pieces
 * of 2 MiB than the kernel does of its own accord? */
bool fm_streams_reach(uint32_t id, uintptr_t lo, uintptr_t hi);
/* Does any stream come to [lo, hi) of range id soon? */
bool fm_streams_come(uint32_t id, uintptr_t lo, uintptr_t hi);
/* The program does something else. */
void fm_streams_over(void);

/* For the statistics. CPU time: of reading, which is the program's work done
 * by another thread, and of what makes room for it. */
struct fm_streams_counts {
	_Atomic uint64_t bytes, cold_bytes, cpu_us;
};
extern struct fm_streams_counts fm_streams_counts;
