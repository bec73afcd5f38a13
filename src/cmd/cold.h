/* SPDX-License-Identifier: MIT */
/* cold.h - each run begins with a cold page cache, as far as we may. */
#pragma once

#include <stdint.h>

enum cold { COLD_FILES, COLD_ALL, COLD_NO };

/* -1: not one of the words. */
int cold_parse(const char *text);

/* COLD_FILES: the files below `paths`, separated by colons. 0 or -errno; the
 * pages of them that stayed, as somebody has them mapped. */
int cold_make(enum cold how, const char *paths, uint64_t *ret_stayed);
