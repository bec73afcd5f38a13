/* SPDX-License-Identifier: MIT */
/*
 * judge.h - once a second: would another server cost less for what the engine
 * has? (serve/cost.h, serve/trial.h)
 *
 * What fits into memory, all of it, is handed to the kernel; where that is a
 * guess the kernel is tried. Files with `serve = auto` of which nothing is
 * mapped privately, each that has an eighth or more of the time that all lose:
 * others stay the engine's, and have its cache for themselves. In a second in
 * which nothing faulted nothing is measured. All [plain], in the thread that
 * runs once a second, unless it says more. While the engine does not run that
 * is the one of advise/kernel_monitor.h: then it is only looked what the
 * program waits for (engine_trial.h).
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fm_file;

/* Compare, and begin or end a trial. Without a lock. */
void fm_judge_second(void);
/* [any] Is f the kernel's because of a trial? */
bool fm_judge_tries(const struct fm_file *f);
/* [any] The kernel was not better: the files are to come back. */
bool fm_judge_returns(void);

/* [any] For the statistics: trials that have begun; of them won by the kernel;
 * and what threads lost with either server when they were compared last, in
 * thousandths of a thread. */
struct fm_trial_counts {
	uint64_t begun, kept;
	uint32_t engine, kernel;
};
void fm_trial_counts(struct fm_trial_counts *ret);
