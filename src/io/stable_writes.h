/* SPDX-License-Identifier: MIT */
/* stable_writes.h - does what is being written have to stay as it is? */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

/* [plain] Is the file (any descriptor of it, O_PATH too) on a file system or a
 * device that makes checksums, parity or copies of what is submitted? A store
 * during a direct write would leave a block that does not agree with them.
 * False where it cannot be told: no /sys, a network file system. */
bool fm_wants_stable(int fd, dev_t dev);
