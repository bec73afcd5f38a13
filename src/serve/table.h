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
#include "trial.h"

/* As last measured, while the engine knows the file (fm_file.choice). */
struct fm_choice {
	struct fm_trial trial; /* of the engine */
	struct fm_hold back;   /* until the engine may have it again */
	_Atomic bool losing;   /* the kernel, by the last looks */
	uint64_t calm_since_ms;
	struct fm_rate rate;   /* the kernel's, by the last looks */
	/* lost, in thousandths of a thread, with each of the two */
	_Atomic uint32_t kernel, engine;
	/* ns an access, by enum fm_server, before a change of it; 0: not
	 * known */
	_Atomic uint64_t cost_ns[2];
	/* in faults, up to the last look at it, and before it */
	uint64_t spent_seen_ns, spent_lately_ns;
};

struct fm_loss; /* mmap/engine_trial.c */

struct fm_serve_entry {
	dev_t dev;
	ino_t ino;
	/* Under the space lock. */
	uint32_t maps_of;    /* the process that `maps` are of */
	struct fm_maps maps; /* fm_serve_maps */
	bool in_kernel;      /* it serves a mapping, or did */
	uintptr_t kernel_at; /* where that was when last looked up */
	struct fm_choice choice;
	/* 1 + the place of its statistics, of a process: fm_serve_unserved */
	_Atomic uint32_t skipped;
	struct fm_loss *loss; /* of one thread */
};

/* [any] The entry of a file; NULL: there is none. */
struct fm_serve_entry *fm_serve_find(dev_t dev, ino_t ino);
/* [any] The same, made if need be; NULL: the table is full. */
struct fm_serve_entry *fm_serve_of(dev_t dev, ino_t ino);

/* [any] Under the space lock: how this process has mapped it. */
struct fm_maps *fm_serve_maps(struct fm_serve_entry *c);
/* [any] 1 + the place of its statistics (mmap/unserved.c) in this process; 0:
 * none. */
unsigned fm_serve_unserved(const struct fm_serve_entry *c);
void fm_serve_set_unserved(struct fm_serve_entry *c, unsigned place);

/* [any] Of a file that the engine begins to know. Where the table is full it is
 * one of its own; NULL without memory. */
struct fm_choice *fm_choice_of(dev_t dev, ino_t ino);
/* [any] It does not know it any more. */
void fm_choice_put(struct fm_choice *c, dev_t dev, ino_t ino);

#endif
