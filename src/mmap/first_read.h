/* SPDX-License-Identifier: MIT */
/*
 * first_read.h - does the device of a file that nothing has been read of yet
 * answer late?
 *
 * While no engine runs nothing is known of a device. So the kernel is asked for
 * the start of the mapping, as much as it reads ahead, which the program is
 * about to touch most likely; and that is waited for, no longer than is needed
 * to know (first_read_late_ns). Once a process for a device that answers in
 * time.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct stat;

/* [plain] fd: of the file, for reading. ahead: bytes that the kernel reads at a
 * time. */
bool fm_first_read_is_late(int fd, const struct stat *st, uint64_t off,
			   uint64_t ahead);
