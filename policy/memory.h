/* SPDX-License-Identifier: MIT */
#pragma once

#include <stdbool.h>
#include <stdint.h>

uint64_t fm_memory_total(void);
/* Least limit of the control groups of this process, UINT64_MAX without one.
 * `root` is put before /proc and /sys (tests; "" in earnest). */
uint64_t fm_cgroup_limit(const char *root);
/* Bytes that this process could still have: the least of what the limits of
 * its control groups and the machine leave when all page cache has made room.
 * Shared by all who are in the group. UINT64_MAX when nothing tells. */
uint64_t fm_memory_left(const char *root);
/* The same in earnest, as of a tenth of a second ago at most: for who asks at
 * each mmap. */
uint64_t fm_memory_left_lately(void);
/* As of now: for who is about to take some of it. */
uint64_t fm_memory_left_now(void);
/* Likewise, before any page cache has made room. */
uint64_t fm_memory_free(const char *root);
/* Pages of page cache that came back after they had been evicted: a growing
 * total of the smallest group with a limit, or of the machine. 0 when nothing
 * tells. */
uint64_t fm_memory_refaults(const char *root);
