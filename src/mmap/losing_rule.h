/* SPDX-License-Identifier: MIT */
/*
 * losing_rule.h - whether the program loses time by what the kernel serves, and
 * whether the engine, on trial, is better. Nothing but arithmetic: losing.c
 * measures and acts.
 *
 * Lost are, in thousandths of a thread: in the kernel's mappings 50 us for each
 * major fault, and what is read at 256 MiB/s; in the engine's what threads
 * spend in faults. Nothing tells an unprivileged process how long its threads
 * wait in major faults, so two estimates of waiting are never compared with
 * each other. What is compared is how far the program gets: accesses that had
 * to wait, or bytes that were read, in a second, divided by the part of the
 * file that is not in memory, which is about how many of all accesses have to
 * wait. With less of the file in memory more waits are no progress.
 */
#ifndef FM_LOSING_RULE_H
#define FM_LOSING_RULE_H

#include <stdbool.h>
#include <stdint.h>

/* Growing totals of the process. */
struct fm_losing_totals {
	uint64_t ms;         /* the time */
	uint64_t major;      /* faults of the kernel that waited */
	uint64_t read_bytes; /* from devices */
	uint64_t spent_ns;   /* in faults of the engine, by all threads */
	uint64_t loads;      /* reads that the engine has made */
};

struct fm_losing_rate {
	uint32_t kernel, engine; /* lost, in thousandths of a thread */
	uint32_t waits;          /* major faults and loads a second */
	uint32_t kib;            /* read a second */
	uint32_t missing;        /* of the file, in thousandths */
};

/* [plain] Between two looks; not what is missing. */
struct fm_losing_rate fm_losing_rate(const struct fm_losing_totals *a,
				     const struct fm_losing_totals *b);

/* [plain] Is that worth a trial? */
bool fm_losing_much(const struct fm_losing_rate *r);

/* [plain] Is the engine better now than the kernel was? */
bool fm_losing_better(const struct fm_losing_rate *kernel,
		      const struct fm_losing_rate *engine);

#endif
