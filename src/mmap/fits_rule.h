/* SPDX-License-Identifier: MIT */
/*
 * fits_rule.h - which files are the kernel's from the start, since all that is
 * mapped fits into memory, but not into the cache. Nothing but arithmetic:
 * fits.c measures.
 */
#ifndef FM_FITS_RULE_H
#define FM_FITS_RULE_H

#include <stdbool.h>
#include <stdint.h>

/* Bytes. */
struct fm_fits {
	uint64_t file;    /* what is to be mapped */
	uint64_t engines; /* files that the engine serves already, */
	uint64_t kernels; /* and mappings that the kernel serves */
	uint64_t left;    /* that others leave, the cache's included */
	uint64_t cache;   /* that the engine has for it */
};

/* [plain] Is it the kernel's? */
bool fm_fits_kernel(const struct fm_fits *f);

#endif
