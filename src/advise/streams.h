/* SPDX-License-Identifier: MIT */
/*
 * streams.h - what streams will touch next, read ahead for them where the
 * kernel does not.
 *
 * A stream that runs backward, or by steps of 64 KiB, waits for a small read at
 * each fault where the kernel reads ahead by 128 KiB. That is seen from the
 * bytes that are read for a fault that waits. The helper thread's own. [plain]
 */
#ifndef FM_STREAMS_H
#define FM_STREAMS_H

#include <stdint.h>

struct fm_area_use;

/* A row of pages of range `id`, which is [least, most), has been touched. */
struct fm_row {
	uint32_t id;
	uintptr_t start, end, least, most;
};
void fm_streams_touched(const struct fm_row *r);

/* After the rows of a look have been told: use of the time since the last, and
 * the bytes of memory that there are. Waits for the device. */
void fm_streams_ahead(const struct fm_area_use *use, uint64_t memory);

/* For the statistics. CPU time: of reading, which is the program's work done
 * by another thread. */
struct fm_streams_counts {
	_Atomic uint64_t bytes, cpu_us;
};
extern struct fm_streams_counts fm_streams_counts;

#endif
