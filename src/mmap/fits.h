/* SPDX-License-Identifier: MIT */
/*
 * fits.h - is this a file that fits into memory, but not into the cache? Then
 * the kernel has it from the start: page cache needs no reserve.
 */
#ifndef FM_FITS_H
#define FM_FITS_H

#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

struct fm_policy;

/* [plain] Under the space lock. [off, off + len) of a file that nobody serves
 * is to be mapped; `grows`: the mapping may be stored to, or the file be
 * written to by its descriptor. */
bool fm_fits_only(const struct stat *st, uint64_t off, uint64_t len,
		  bool grows, const struct fm_policy *p);

#endif
