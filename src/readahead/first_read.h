/* SPDX-License-Identifier: MIT */
/*
 * first_read.h - what does the device of a file take of which nothing has been
 * read yet?
 *
 * The kernel is asked for what the program is about to touch most likely, and
 * that is waited for. What it takes is told to io/device.h: once for all files
 * of that device.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include <sys/types.h>

#include "fetch.h"

struct stat;

/* [plain] While no engine runs: does it answer late (first_read_late_ns)? fd:
 * of the file, for reading; ahead: bytes that the kernel reads at a time. It is
 * waited for no longer than that. */
bool fm_first_read_is_late(int fd, const struct stat *st, uint64_t off,
			   uint64_t ahead);

/* [plain] For who comes through a mapping of that device: a page of r that is
 * not there, so far before its start that the kernel does not read it yet; and
 * another one where nothing has told before. Waits for the device. */
void fm_first_read_for(dev_t dev, struct fm_fetch_run r, uint64_t ahead);
/* [any] Who waits there goes, or may wait. */
void fm_first_read_stop(bool yes);
