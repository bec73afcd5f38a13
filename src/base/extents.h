/* SPDX-License-Identifier: MIT */
/* extents.h - where a file has blocks, and which (FIEMAP). */
#pragma once

#include <linux/fiemap.h>
#include <stdbool.h>
#include <stdint.h>

/* [plain] Calls fn for each extent of which something lies in [start, end), in
 * order, until it says true. 1: it has; 0: there is none left; -errno: the file
 * system does not tell, or not after so many calls (-E2BIG). */
int fm_extents_find(int fd, uint64_t start, uint64_t end, int calls,
		    bool (*fn)(const struct fiemap_extent *e, void *arg),
		    void *arg);
