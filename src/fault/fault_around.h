/* SPDX-License-Identifier: MIT */
/* fault_around.h - what comes along with a demand page (fault-around).
 * [fault] */
#pragma once

#include "base/types.h"

/* Page i of m is locked by the caller and about to be loaded. Chooses the
 * pages [*lo, *hi) around it that one read brings, and locks the others. */
void fm_fault_around_lock(struct fm_map *m, uint64_t i, uint64_t *lo,
			  uint64_t *hi);
/* Page i of m has been loaded; no page is locked. Where all fits into the cache
 * and most of the 2 MiB around it would come soon, what is missing of them is
 * read in the background. */
void fm_fault_around_rest(struct fm_map *m, uint64_t i);
/* The same of a page that is about to be loaded, where a read by itself takes
 * longer than what comes along with the page: then it comes by that one read,
 * not by two. */
void fm_fault_around_all(struct fm_map *m, uint64_t i);
/* [plain] Looks whether all mapped files fit into the cache: now and then, and
 * when one is mapped that was not. */
void fm_fault_around_weigh(void);
void fm_fault_around_unlock(struct fm_map *m, uint64_t i, uint64_t lo,
			    uint64_t hi);
