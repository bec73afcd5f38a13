/* SPDX-License-Identifier: MIT */
/*
 * kernel_mapped.h - files that the kernel serves for us although a policy names
 * them (mapped too small, already warm): fm_serve_kernel. As long as such a
 * mapping lives, the file must not also be served by the engine: the two would
 * not agree.
 */
#ifndef FM_KERNEL_MAPPED_H
#define FM_KERNEL_MAPPED_H

#include <stdbool.h>

struct stat;

/* [plain] Under the space lock: is there one? */
bool fm_kernel_mapped_has(const struct stat *st);

#endif
