/* SPDX-License-Identifier: MIT */
/*
 * trace.h - record of faults for benches/evictsim: 8 bytes each, little
 * endian, page number of the file in the low 48 bits, 1 << 48 for a store.
 */
#ifndef FM_TRACE_H
#define FM_TRACE_H

#include "types.h"

int fm_trace_start(const char *path); /* [plain] */
void fm_trace_stop(void);
void fm_trace_reset(void); /* child of fork */
void fm_trace_record(uint64_t page, bool write); /* [fault] */

extern _Atomic bool fm_tracing;
static inline void fm_trace(const struct fm_file *f, uint64_t page, bool write)
{
	(void)f;
	if (atomic_load_explicit(&fm_tracing, memory_order_relaxed))
		fm_trace_record(page, write);
}

#endif
