/* SPDX-License-Identifier: MIT */
#include "streaming.h"

#include "base/file_part.h"
#include "cache.h"
#include "evict_queues.h"
#include "file/file.h"
#include "probe.h"
#include "shares.h"
#include "tunables.h"

FM_FILE_PART(streaming)

/* So often that a look comes before much has been evicted. */
static FM_FAULT uint64_t streaming_window(void)
{
	const uint64_t part = fm_cache_limit() / fm_tune.evictor_free;

	return part > fm_tune.sample_enough ? part : fm_tune.sample_enough;
}

static FM_FAULT uint64_t streaming_take(_Atomic uint32_t *n)
{
	return atomic_exchange_explicit(n, 0, memory_order_relaxed);
}

/* A fault is one access, however many pages came with it; so is a chunk of a
 * stream that its reader has come to. */
static FM_FAULT void streaming_look(struct fm_file *f)
{
	const uint64_t read = streaming_take(&f->streaming->read);
	const uint64_t back = streaming_take(&f->streaming->back);
	const uint64_t faults = streaming_take(&f->streaming->faults);

	fm_shares_stream(f, read > fm_tune.streaming_part * faults &&
				    read > fm_tune.streaming_back * back);
}

FM_FAULT void fm_streaming_read(struct fm_file *f, uint64_t n)
{
	const uint32_t was = atomic_fetch_add_explicit(
		&f->streaming->read, (uint32_t)n, memory_order_relaxed);

	fm_shares_streamed(f, n);
	if (was + n >= streaming_window())
		streaming_look(f);
}

FM_FAULT void fm_streaming_fault(struct fm_file *f)
{
	const uint32_t was = atomic_fetch_add_explicit(
		&f->streaming->faults, 1, memory_order_relaxed);

	if (was + 1 >= streaming_window() / fm_tune.streaming_part)
		streaming_look(f);
}

FM_FAULT void fm_streaming_back(struct fm_file *f, uint64_t n, bool soon)
{
	if (fm_shares_open(f) != FM_POOL_STREAMED)
		fm_probe_back(n);
	if (soon)
		atomic_fetch_add_explicit(&f->streaming->back, (uint32_t)n,
					  memory_order_relaxed);
}
