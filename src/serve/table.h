/* SPDX-License-Identifier: MIT */
/*
 * table.h - what is known of each file about who serves it.
 *
 * One entry for each file that a policy names and that was mapped, whoever
 * serves it. Entries are added without a lock of ours and stay. There may be
 * 60,000, so what few need is allocated when it is, and stays as well. A child
 * of fork keeps them, and of what is in them only that the kernel has mapped
 * the file. So does the next file that gets the number.
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>

#include "base/by_inode.h"
#include "again.h"
#include "maps.h"
#include "trial.h"
#include "veto.h"

struct fm_unserved; /* mmap/unserved.h */
struct fm_loss;     /* mmap/engine_trial.c */

struct fm_serve_entry {
	FM_BY_INODE;
	_Atomic uint32_t vetoes; /* enum fm_veto: veto.h */
	uint32_t maps_of;    /* the process and the file that `maps` are of */
	_Atomic uint64_t born, changed; /* the file, in ns: fm_serve_seen */
	_Atomic bool kernel; /* it serves a mapping, or did */
	_Atomic uint32_t file; /* how many have had its number before it */
	/* Under the space lock. */
	uintptr_t kernel_at; /* where that was when last looked up */
	struct fm_maps *maps;
	struct fm_loss *loss; /* of one thread */
	/* its statistics, unless those are another's by now */
	_Atomic(struct fm_unserved *) left;
};

/* As last measured, while the engine knows the file (fm_file.choice). */
struct fm_choice {
	struct fm_serve_entry alone; /* where the table is full */
	struct fm_trial trial; /* of the engine */
	struct fm_hold back;   /* until the engine may have it again */
	_Atomic bool engine_wanted; /* the kernel loses, by the last looks */
	uint64_t calm_since_ms;
	struct fm_rate rate;   /* the kernel's, by the last looks */
	/* lost, in thousandths of a thread, with each of the two */
	_Atomic uint32_t kernel, engine;
	/* ns an access, by enum fm_server, before a change of it; 0: not
	 * known */
	_Atomic uint64_t cost_ns[2];
	/* in faults, up to the last look at it, and before it */
	uint64_t spent_seen_ns, spent_lately_ns;
	struct fm_again again, holes, words; /* under the space lock */
};

/* [any] The entry of a file; NULL: there is none. */
struct fm_serve_entry *fm_serve_find(dev_t dev, ino_t ino);
/* [any] The same, made if need be; NULL: the table is full. */
struct fm_serve_entry *fm_serve_of(dev_t dev, ino_t ino);

/* [any] This file is mapped. What was known of one that is gone, and had its
 * number, is of another file from now on. Two are told apart by their birth,
 * which is looked up where the file has changed. */
void fm_serve_seen(const struct stat *st, int fd);
/* [any] It has not changed since. */
bool fm_serve_unchanged(const struct fm_serve_entry *c, const struct stat *st);

/* [any] Whether something forbids the engine this file. Returns that. */
bool fm_veto_put(struct fm_serve_entry *c, enum fm_veto v, bool is);
/* [any] The kernel has mapped it. */
void fm_serve_kernel(dev_t dev, ino_t ino);
/* An entry was wanted and not made: what is in none may be so all the same. */
extern _Atomic bool fm_serve_incomplete;

/* [any] Under the space lock: how this process has mapped it; NULL: nothing is
 * known of that. make: from now on it is, if there is memory. */
struct fm_maps *fm_serve_maps(dev_t dev, ino_t ino, bool make);
/* [any] Under the space lock: the same of all files of this device of which
 * about as much is mapped, from half of len to twice as much. make: begin anew
 * in the place of others, if need be; else NULL: nothing is known. */
struct fm_maps *fm_serve_alike(dev_t dev, size_t len, bool make);
