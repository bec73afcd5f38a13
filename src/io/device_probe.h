/* SPDX-License-Identifier: MIT */
/*
 * device_probe.h - what a read costs on a device of which nothing is read.
 *
 * A file whose pages are loaded through the page cache (stable pages, as zram
 * wants them) says nothing of its device. So some of the pages are read from
 * there as well.
 */
#pragma once

#include "base/types.h"

/* [fault] The page at off came from the page cache. */
void fm_device_probe(struct fm_file *f, uint64_t off);
