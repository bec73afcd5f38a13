/* SPDX-License-Identifier: MIT */
/*
 * map_edit.h - mappings are cut, hidden from faults, locked, and taken out: the
 * steps of all that changes the address space. Under the space lock unless
 * stated.
 */
#ifndef FM_MAP_EDIT_H
#define FM_MAP_EDIT_H

#include "base/types.h"

/* Cut mappings so that none straddles start or end. 0 or -ENOMEM. */
int fm_range_cut(uintptr_t start, uintptr_t end);
/* Call fn for every mapping inside [start, end) (which has been cut). Stops
 * on the first non-zero result and returns it. */
typedef int (*fm_map_fn)(struct fm_map *m, void *arg);
int fm_range_maps(uintptr_t start, uintptr_t end, fm_map_fn fn, void *arg);

/* The same as a list, for what follows after the radix has changed. */
struct fm_list {
	struct fm_map **v; /* fm_free */
	size_t n;
};
int fm_range_list(uintptr_t start, uintptr_t end, struct fm_list *ret);

int fm_list_each(const struct fm_list *l, fm_map_fn fn, void *arg);

/* Steps of taking a mapping out, as fm_map_fn. flush: write what only m may
 * hold. hide: unknown to the fault path, nothing read ahead. lock: every
 * touched page locked, nothing dirty; several mappings are locked in the order
 * of their pages. lock_unused: and no system call uses
 * them, for something else takes their place. show_and_unlock undoes both. */
int fm_map_flush(struct fm_map *m, void *arg);
int fm_map_hide(struct fm_map *m, void *arg);
int fm_map_lock(struct fm_map *m, void *arg);
int fm_map_lock_unused(struct fm_map *m, void *arg);
int fm_map_show_and_unlock(struct fm_map *m, void *arg);
/* Cut and write back what is about to go, and list it; then, one by one
 * (aliases share locks), hide, lock and either retire, when the memory
 * means something else now, or show again. */
int fm_range_settle(uintptr_t start, uintptr_t end, struct fm_list *ret);
int fm_map_retire(struct fm_map *m, void *arg);
/* the program's protection again */
int fm_map_reopen(struct fm_map *m, void *arg);
int fm_map_sync_prot(struct fm_map *m); /* [fault] the same; 0 or -errno */
/* Is something of it to be written still? */
bool fm_map_still_dirty(struct fm_map *m);
int fm_map_protect(struct fm_map *m, int prot); /* [fault] the memory only */

/* What fm_map_lock has locked. */
void fm_map_unlock_pages(struct fm_map *m);
/* Every touched page of [lo, hi), with no write-back in flight; and what that
 * has locked. */
void fm_map_lock_part(struct fm_map *m, uint64_t lo, uint64_t hi);
void fm_map_unlock_part(struct fm_map *m, uint64_t lo, uint64_t hi);

/* Make [start, end) unmanaged: flush, radix, objects. Its memory stays, empty;
 * who touches it waits. The caller maps something else there next. */
int fm_range_release(uintptr_t start, uintptr_t end);

#endif
