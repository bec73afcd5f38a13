/* SPDX-License-Identifier: MIT */
/*
 * table.h - what is known of each file about who serves it.
 *
 * One entry for each file that a policy names and that was mapped, whoever
 * serves it. Entries are added without a lock and stay; a child of fork keeps
 * them, and of what is in them only that the kernel has mapped the file.
 */
#ifndef FM_SERVE_TABLE_H
#define FM_SERVE_TABLE_H

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "maps.h"

struct fm_case {
	dev_t dev;
	ino_t ino;
	/* Under the space lock. */
	struct fm_maps maps;
	bool in_kernel;      /* it serves a mapping, or did */
	uintptr_t kernel_at; /* where that was when last looked up */
	/* 1 + the place of its statistics (mmap/skipped.c); 0: none */
	_Atomic uint16_t skipped;
};

/* [any] The entry of a file; NULL: there is none. */
struct fm_case *fm_case_find(dev_t dev, ino_t ino);
/* [any] The same, made if need be; NULL: the table is full. */
struct fm_case *fm_case_of(dev_t dev, ino_t ino);

#endif
