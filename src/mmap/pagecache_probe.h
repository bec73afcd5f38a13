/* SPDX-License-Identifier: MIT */
/* pagecache_probe.h - is a file in the kernel's page cache already? */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct stat;
struct fm_policy;

/* [plain] Whether the policy wants the kernel to serve a mapping of bytes
 * [off, off + len) because (nearly) all that lies in the file is cached: a
 * mapping of cached folios costs 30 ns a page and cannot be beaten by
 * copying. Of a sparse file all that has blocks, if that is 1 MiB at least. Not
 * by default when it is less than 1 MiB, of a mapping that reaches 1 MiB beyond
 * the end of the file: such a file is about to be written. */
bool fm_pagecache_enough(int fd, const struct stat *st, uint64_t off,
			 uint64_t len, const struct fm_policy *p);

/* [plain] Whether all of [off, off + len) that lies in the file is cached. */
bool fm_pagecache_window(int fd, const struct stat *st, uint64_t off,
			 uint64_t len);

/* [plain] Pages of the file that are cached; 0 when it cannot be told. */
uint64_t fm_pagecache_pages(int fd, const struct stat *st);
