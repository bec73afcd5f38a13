/* SPDX-License-Identifier: MIT */
/*
 * fork.h - what the rest of the engine must know about children of fork.
 *
 * A child begins with its mappings laid out but empty: most children execute
 * another program and never touch them. The first touch of a file, by memory
 * or by system call, asks whoever serves it to hand it to the kernel and puts
 * the kernel's mappings in place.
 */
#ifndef FM_FORK_H
#define FM_FORK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

/* Under the space lock, in a child: the kernel has mapped the file so that it may be
 * stored to. Who serves it and only reads hands it over, too, before this returns. */
void fm_fork_stores(dev_t dev, ino_t ino);

/* [plain] In a child: the program that it executes gets a descriptor of the file. Who
 * serves it hands it over, unless neither side can store. */
void fm_fork_inherits(dev_t dev, ino_t ino, bool stores);

#endif
