/* SPDX-License-Identifier: MIT */
/*
 * memory_device.h - is a file's device as fast as memory (zram, brd, pmem)?
 *
 * Such a driver copies within the call that submits the read, so its completion
 * is there when that call returns. A disk's is so only where the thread had to
 * wait for a processor meanwhile; therefore the fixed part of a read (device.h)
 * must be as short, too: less than two pages take. What is counted are reads of
 * one page that bypass the page cache; pages of zeros are not, for a hole or a
 * block that was never written is not read from any device.
 */
#ifndef FM_MEMORY_DEVICE_H
#define FM_MEMORY_DEVICE_H

#include <stdatomic.h>
#include <stdbool.h>

#include "base/types.h"

struct fm_io;

/* [fault] The call that submitted io, a read, has just returned. */
void fm_memory_device_note(const struct fm_io *io);

/* [fault] The page at off came from the page cache, which says nothing of the
 * device: now and then read it once more, from there. No more on a device that
 * is slower than memory. */
void fm_memory_device_probe(struct fm_file *f, uint64_t off);

/* [fault] Nine of ten of the last 256 single reads of f were of such a device,
 * and readahead has brought fewer pages meanwhile. True once for each 256. Of
 * another file of a device that was judged so 32 are enough. */
bool fm_memory_device_seen(struct fm_file *f);

static inline bool fm_on_memory_device(const struct fm_file *f)
{
	return atomic_load_explicit(&f->io.at_once, memory_order_relaxed);
}

#endif
