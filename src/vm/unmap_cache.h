/* SPDX-License-Identifier: MIT */
/*
 * unmap_cache.h - the mapping cache: what a mapping held when it was unmapped,
 * for the next mmap of the same range of an unchanged file.
 *
 * Nothing of the file stays open: the memory goes to an address of the
 * engine's, with the inode's number, size and change time. It counts as
 * cache, and is the first to go when room is needed (base/shrinker.h).
 */
#pragma once

#include "base/types.h"
#include "base/up.h"

/* [any] Under the space lock. m is hidden, its touched pages are locked and
 * clean, its memory is still there. True: the memory has been taken (and is not
 * at its address any more); fm_map_retire follows either way. */
bool fm_unmap_cache_put(struct fm_map *m);

/* [any] Under the space lock: m is new, published, laid down with protection
 * prot, and its address is not known to the program yet. Brings back what was
 * kept of it. -errno: the memory must be laid down again. */
int fm_unmap_cache_take(struct fm_map *m, int prot);

/* [any] Under the space lock: give all of it back. */
void fm_unmap_cache_drop(void);

/* [any] Does each change of this file, after a look at its times, get one of
 * its own? */
bool fm_fine_times(int fd);

/* [plain] Has nobody else had the file open since we watch it? */
FM_UPCALL(bool, file_is_quiet, const struct fm_file *f);
