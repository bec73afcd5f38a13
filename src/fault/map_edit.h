/* SPDX-License-Identifier: MIT */
/*
 * map_edit.h - mappings are cut, hidden from faults, locked, and taken out: the
 * steps of all that changes the address space. All [any], under the space lock,
 * unless it says more. start and end are addresses, i, lo and hi pages of the
 * mapping.
 */
#pragma once

#include "base/types.h"

/* Cut mappings so that none straddles start or end. 0 or -ENOMEM. */
int fm_range_cut(uintptr_t start, uintptr_t end);
/* Call fn for every mapping inside [start, end) (which has been cut). Stops on
 * the first non-zero result and returns it. */
typedef int (*fm_map_fn)(struct fm_map *m, void *arg);
int fm_range_maps(uintptr_t start, uintptr_t end, fm_map_fn fn, void *arg);

/* The mappings of a range as a list, for what follows after the radix tree has
 * changed. */
struct fm_list {
	struct fm_map **v; /* fm_free */
	size_t n;
};
/* List the mappings in [start, end), which has been cut; or those of a file. 0
 * or -ENOMEM. */
int fm_range_list(uintptr_t start, uintptr_t end, struct fm_list *ret);
int fm_file_list(struct fm_file *f, struct fm_list *ret);
/* Call fn for each; stops on the first non-zero result and returns it. */
int fm_list_each(const struct fm_list *l, fm_map_fn fn, void *arg);

/*
 * Steps of taking a mapping out, as fm_map_fn. 0 or -errno.
 *
 *	fm_map_flush            write what only m may hold
 *	fm_map_hide             faults do not find it any more, and nothing is
 *				read ahead for it
 *	fm_map_lock             lock every touched page; none is dirty then.
 *				Several mappings are locked in the order of
 *				their pages
 *	fm_map_lock_unused      the same, and no system call uses them:
 *				something else takes their place
 *	fm_map_show_and_unlock  undoes hide and lock
 */
int fm_map_flush(struct fm_map *m, void *arg);
int fm_map_hide(struct fm_map *m, void *arg);
int fm_map_lock(struct fm_map *m, void *arg);
int fm_map_lock_unused(struct fm_map *m, void *arg);
int fm_map_show_and_unlock(struct fm_map *m, void *arg);
/* Cut, write back and list what is about to go. Then the caller hides and locks
 * one mapping after the other (aliases share locks), and either retires it,
 * when the memory means something else now, or shows it again. 0 or -errno. */
int fm_range_settle(uintptr_t start, uintptr_t end, struct fm_list *ret);
/* m, hidden and locked, is no mapping of ours any more. fm_map_fn. */
int fm_map_retire(struct fm_map *m, void *arg);
/* Give m's memory the program's protection, as fm_map_fn. 0. */
int fm_map_reopen(struct fm_map *m, void *arg);
/* [fault] Give m's memory the program's protection. 0 or -errno. */
int fm_map_sync_prot(struct fm_map *m);
/* Is a page of m to be written still? */
bool fm_map_still_dirty(struct fm_map *m);
/* [fault] Give m's memory protection prot; what the program sees of it
 * (m->prot) stays. 0 or -errno. */
int fm_map_protect(struct fm_map *m, int prot);

/* Unlock what fm_map_lock has locked. */
void fm_map_unlock_pages(struct fm_map *m);
/* Lock every touched page of [lo, hi), with no write-back in flight; and unlock
 * those. */
void fm_map_lock_part(struct fm_map *m, uint64_t lo, uint64_t hi);
void fm_map_unlock_part(struct fm_map *m, uint64_t lo, uint64_t hi);

/* Make [start, end) unmanaged: write back, leave the radix tree, free the
 * objects. The memory stays, empty; who touches it waits. The caller maps
 * something else there next. 0 or -errno. */
int fm_range_release(uintptr_t start, uintptr_t end);
