/* SPDX-License-Identifier: MIT */
/*
 * epoch.h - safe reclamation for the lock-free readers of mappings and files
 * (epoch based, after Fraser 2004, section 5.2.3).
 *
 * A reader claims a slot for the length of its section; no slot belongs to a
 * thread, so threads may come and go. Objects are freed once every section
 * that could have seen them has ended. enter/leave are [fault] safe and nest;
 * retire and reclaim are [plain], under the space lock.
 */
#ifndef FM_EPOCH_H
#define FM_EPOCH_H

#include <stdbool.h>

unsigned fm_epoch_enter(void);
void fm_epoch_leave(unsigned slot);

void fm_epoch_retire(void *obj, void (*free_fn)(void *));
/* Free what nobody can see any more; unless `at_once`, when there is enough of
 * it to be worth a look at all readers. */
void fm_epoch_reclaim(bool at_once);

#endif
