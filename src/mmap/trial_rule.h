/* SPDX-License-Identifier: MIT */
/*
 * trial_rule.h - when the kernel is tried as the server of what the engine has,
 * and whether it was better. Nothing but arithmetic: trial.c measures and acts.
 *
 * What is compared is the time that threads lose, in thousandths of a thread:
 * in the engine what they spend in faults; in the kernel's mappings what major
 * faults take (each as long as a fault of the engine took, 50 us at least), and
 * what is read at 256 MiB/s. The kernel has to lose less than a quarter of what
 * the engine lost to keep the files, and loses them again when it is more than
 * half for three seconds.
 *
 * A thread that always waits loses all of its time with either server. Then it
 * is compared how far the program gets: pages that were waited for in a second,
 * divided by the part of what is mapped that is not in memory, which is about
 * how many of all accesses have to wait. The kernel has to get further by an
 * eighth, in two seconds in a row; it keeps the files while it gets as far.
 *
 * A trial that failed is repeated after 1 minute, then
 * after 5, then every 25; after 10 minutes in which nothing was worth one, all
 * begins anew.
 */
#ifndef FM_TRIAL_RULE_H
#define FM_TRIAL_RULE_H

#include <stdbool.h>
#include <stdint.h>

/* Growing totals. */
struct fm_trial_totals {
	uint64_t ms;           /* the time */
	uint64_t spent_ns;     /* in faults of the engine, by all threads */
	uint64_t faults;       /* these */
	uint64_t major;        /* faults of the kernel that waited */
	uint64_t read_bytes;   /* by the process */
	uint64_t loads;        /* reads that the engine has made */
	uint32_t missing; /* of what is mapped, in thousandths; 0: unknown */
};

enum fm_trial_state { FM_TRIAL_ENGINE, FM_TRIAL_RUNS, FM_TRIAL_KERNEL };
enum fm_trial_act {
	FM_TRIAL_NOTHING,
	FM_TRIAL_BEGIN, /* hand the files over */
	FM_TRIAL_KEEP,  /* the kernel was better */
	FM_TRIAL_END,   /* take them back */
};

struct fm_trial {
	enum fm_trial_state state;
	struct fm_trial_totals last;
	uint64_t not_before_ms;
	uint64_t begun_ms, begun_bytes;
	uint64_t room;       /* bytes that may have to be read first */
	uint64_t fault_ns;   /* one of the engine's took */
	uint32_t engine;     /* lost, in thousandths of a thread, */
	uint32_t kernel;     /* in the last second */
	uint64_t reached;    /* accesses a second with the engine; 0: unknown */
	unsigned good;       /* seconds in a row: further with the kernel */
	unsigned hopeful;    /* seconds in a row with `loops` */
	unsigned bad;        /* in which the kernel was worse, likewise */
	unsigned failed;     /* trials, in a row */
	uint64_t hoped_ms;   /* when one was worth a trial last */
};

/* [plain] Once a second. `loops`: the kernel may be better, for what is in use
 * may fit into its page cache (fm_mem_monitor_loops); `room`: bytes that the
 * page cache could have. */
enum fm_trial_act fm_trial_step(struct fm_trial *t,
				const struct fm_trial_totals *now, bool loops,
				uint64_t room);
/* [plain] It could not be begun. */
void fm_trial_refused(struct fm_trial *t, uint64_t now_ms);

#endif
