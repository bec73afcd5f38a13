/* SPDX-License-Identifier: MIT */
/*
 * streaming.h - files that are streamed: nearly all that comes of them comes by
 * readahead of streams, and what left does not come back soon enough to be
 * kept. Their pages make room before those of other files (shares.h).
 *
 * A touch of a resident page is not seen, so a stream at the device's rate
 * would evict a hot set within one turn of the queues, before any of it can
 * show by coming back that it is hot. All [fault].
 */
#pragma once

#include "base/types.h"

struct fm_file_streaming {
	_Atomic uint32_t read, back, faults; /* since the last look */
};

/* A stream's reader has come to n pages of f that were read ahead. */
void fm_streaming_read(struct fm_file *f, uint64_t n);
/* A fault of f, no stream's. */
void fm_streaming_fault(struct fm_file *f);
/* n pages came that were evicted not long ago; `soon`: they would be there with
 * half the cache for them. */
void fm_streaming_back(struct fm_file *f, uint64_t n, bool soon);
