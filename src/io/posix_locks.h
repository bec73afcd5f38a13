/* SPDX-License-Identifier: MIT */
/*
 * posix_locks.h - record locks, where the engine's files are ordinary
 * descriptors.
 *
 * A process that closes any descriptor of a file loses all record locks
 * (F_SETLK) that it has on it. The slots of a ring are no descriptors; without
 * io_uring a file that is locked is not opened, for the number that open gives
 * is closed at once, and what is open of it stays so until nobody has a lock.
 * [plain], under the space lock.
 */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

struct fm_file;

/* Has anybody a record lock on a file with this inode number, as far as
 * /proc/locks tells? */
bool fm_posix_locks_held(ino_t ino);

/* Close the file's descriptors, or when it is locked, later. */
void fm_posix_locks_close(struct fm_file *f);
