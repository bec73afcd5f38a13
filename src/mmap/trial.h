/* SPDX-License-Identifier: MIT */
/*
 * trial.h - the kernel is tried as the server of files that the engine has,
 * where it may be faster, and keeps them if it is (serve/trial.h has the rule).
 *
 * Files with `serve = auto` of which nothing is mapped privately, each that
 * has an eighth or more of the time that all lose: others stay the engine's,
 * and have its cache for themselves. All [plain], in the thread that runs once
 * a second, unless it says more.
 */
#ifndef FM_TRIAL_H
#define FM_TRIAL_H

#include <stdbool.h>
#include <stdint.h>

struct fm_file;

/* Compare, and begin or end a trial. Without a lock. */
void fm_trial_second(void);
/* [any] Is f the kernel's because of a trial? */
bool fm_trial_has(const struct fm_file *f);
/* [any] The kernel was not better: the files are to come back. */
bool fm_trial_lost(void);

/* [any] For the statistics: begun; of them won by the kernel; and what threads
 * lost with either server when they were compared last, in thousandths of a
 * thread. */
struct fm_trial_counts {
	uint64_t begun, kept;
	uint32_t engine, kernel;
};
void fm_trial_counts(struct fm_trial_counts *ret);

#endif
