/* SPDX-License-Identifier: MIT */
/* freeze.h - faults on a file wait while it is demoted, or is about to be. */
#pragma once

#include "base/types.h"

/* [any] Under the space lock: faults on f wait until it thaws. */
void fm_freeze(struct fm_file *f);
void fm_thaw(struct fm_file *f);
/* [any] Like fm_freeze and fm_thaw, without the space lock, and by several
 * threads at a time. */
void fm_file_hold(struct fm_file *f);
void fm_file_release(struct fm_file *f);
/* [fault] Between these two the caller does what no frozen file may see; it
 * waits for nothing there. False: not now, it is frozen. */
bool fm_freeze_enter(struct fm_file *f);
void fm_freeze_leave(struct fm_file *f);
/* [any] It is frozen: wait until nobody is between those any more. */
void fm_freeze_settle(struct fm_file *f);
/* [fault] Wait until it has thawed. */
void fm_wait_frozen(struct fm_file *f);
