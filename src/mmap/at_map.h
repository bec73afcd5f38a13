/* SPDX-License-Identifier: MIT */
/*
 * at_map.h - a file that nobody serves is mapped: would the kernel cost less?
 *
 * serve/cost.h has the formula. What is not known is assumed: the program uses
 * all that it maps, and waits where it misses. What is cheap to find out is
 * asked first, and the first term that makes the kernel cheaper is the answer.
 */
#pragma once

#include <stdint.h>

#include "base/reason.h"

struct fm_mmap_request;

/* [plain] Under the space lock. FM_WHY_NONE: the engine may have it. Otherwise
 * the term that decided. */
enum fm_server_reason fm_at_map(const struct fm_mmap_request *q);
/* [plain] Under the space lock: bytes of the file that are no holes. */
uint64_t fm_at_map_written(const struct fm_mmap_request *q);
