/* SPDX-License-Identifier: MIT */
/*
 * trace.h - record of faults for benches/evictsim: 8 bytes each, little
 * endian: page number in the file (36 bits), which file of the last 4096 that
 * were mapped (12 bits), 1 << 48 for a store.
 */
#pragma once

#include "base/types.h"

/* [fault] */
void fm_trace_record(uint32_t file, uint64_t page, bool write);

extern _Atomic bool fm_tracing;
static inline void fm_trace(const struct fm_file *f, uint64_t page, bool write)
{
	if (atomic_load_explicit(&fm_tracing, memory_order_relaxed))
		fm_trace_record(atomic_load(&f->gen), page, write);
}
