/* SPDX-License-Identifier: MIT */
/*
 * short_maps.h - mappings that are too short for the engine, made without a
 * look at the file.
 *
 * While the engine serves no file at all, the kernel may serve any mapping.
 * What must be known later is only which files it has: before the engine takes
 * one. So the address is noted, and forgotten when it is unmapped; only what is
 * still there when the engine takes its next file is looked up, in
 * /proc/self/maps.
 *
 * For the statistics a mapping counts as the file that the descriptor was
 * before (seen_fd.h). Of many files (a compiler's, a search through a source
 * tree) each is mapped once: what is shorter than any min-size is not looked at
 * either, but for the first ones, and now and then one.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "engine.h"

/* [any] mmap(2) while the engine serves nothing, or NULL: it must be looked
 * at. */
void *fm_short_map_mmap(void *addr, size_t len, int prot, int flags, int fd,
			off_t off);

/* [any] The same of a mapping that is shorter than any policy wants it, of a
 * file that has not been looked at (st is NULL, the engine serves nothing) or
 * was not the engine's a moment ago. */
void *fm_short_map_unseen(const struct stat *st, void *addr, size_t len,
			  int prot, int flags, int fd, off_t off);

/* [plain] Under the space lock: does the kernel serve a mapping of this file,
 * which a policy names, looked at (fm_serve_kernel) or not? As long as one
 * lives the engine must not serve the file, too: the two would not agree. */
bool fm_kernel_mapped_has(const struct stat *st);
