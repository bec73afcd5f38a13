/* SPDX-License-Identifier: MIT */
/*
 * engine_trial.h - files of which the kernel's page cache has too little, and
 * for which the program waits: the engine is tried for them.
 *
 * Most were left to the kernel since they were in the page cache when they were
 * mapped: the engine has never had them, and does not know them. What is in the
 * way of that, and the order of things, is in docs/design.md (*mmap*, "The
 * engine on trial"), which also has all the ways from one server to the other.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fm_file;
struct fm_rate;

/* [plain] Does the program wait for f, which the kernel serves and the engine
 * may take, by the last look? */
bool fm_engine_wanted(const struct fm_file *f);
/* [plain] Without a lock: the engine has taken f, since the program waited for
 * it. */
void fm_engine_trial_taken(struct fm_file *f);
/* [plain] Is it on trial for any file? Once a second, without a lock: is it
 * better for those? They go back to the kernel if not. */
bool fm_engine_trial_runs(void);
void fm_engine_trial_second(const struct fm_rate *r);
/* [plain] A second, of which that is the rate: what does the program wait for?
 * Without a lock, by one thread at a time. */
void fm_engine_trial_look(const struct fm_rate *r);
/* [plain] Once a second while something may be promoted, without a lock: what
 * is waited for no more. */
void fm_engine_trial_calm(void);
/* [plain] Under the space lock: f can never be taken. True: nothing is known of
 * it any more, for the engine has never had it. */
bool fm_engine_trial_forget(struct fm_file *f);
