/* SPDX-License-Identifier: MIT */
/* freeze.h - faults on a file wait while it is handed over, or is about to
 * be. */
#ifndef FM_FREEZE_H
#define FM_FREEZE_H

#include "base/types.h"

/* Under the space lock: faults on f wait until it thaws. */
void fm_freeze(struct fm_file *f);
void fm_thaw(struct fm_file *f);
/* The same without the space lock, and by several at a time. */
void fm_file_hold(struct fm_file *f);
void fm_file_release(struct fm_file *f);
/* [fault] Wait until it has thawed. */
void fm_wait_frozen(struct fm_file *f);

#endif
