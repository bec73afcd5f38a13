/* SPDX-License-Identifier: MIT */
/*
 * epoch.h - safe reclamation for the lock-free readers of mappings and files
 * (epoch based, after Fraser 2004, section 5.2.3).
 *
 * A reader claims a slot for the length of its section; no slot belongs to a
 * thread, so threads may come and go. Objects are freed once every section
 * that could have seen them has ended.
 */
#pragma once

#include <stdbool.h>

/* [fault] Sections nest. fm_epoch_leave gets what fm_epoch_enter returned. */
unsigned fm_epoch_enter(void);
void fm_epoch_leave(unsigned slot);

static inline void fm_epoch_end(unsigned *slot)
{
	fm_epoch_leave(*slot);
}

/* For the rest of the block, however it is left. */
#define FM_IN_EPOCH()                                               \
	unsigned fm_epoch                                           \
		__attribute__((unused, cleanup(fm_epoch_end))) =    \
			fm_epoch_enter()

/* [any] Under the space lock: call free_fn(obj) once nobody can see obj. */
void fm_epoch_retire(void *obj, void (*free_fn)(void *));
/* [any] Under the space lock: free what nobody can see any more; unless
 * `at_once`, only when there is enough of it to be worth a look at all
 * readers. */
void fm_epoch_reclaim(bool at_once);
