/* SPDX-License-Identifier: MIT */
/*
 * trial.h - one run of a program, measured: its time, what it has used, and a
 * sum of what it has written to standard output, of which nothing is kept.
 */
#pragma once

#include <md5.h>
#include <stdbool.h>
#include <stdint.h>

#include "group.h"

struct trial {
	double seconds, cpu;   /* until it has ended; its children's, too */
	uint64_t read;         /* bytes, from devices */
	uint64_t rss;          /* bytes, the largest of a process */
	uint64_t peak;         /* bytes, of the control group, or 0 */
	int status;            /* as wait(2) has it */
	bool out_of_memory;    /* somebody in the group was killed */
	char sum[MD5_DIGEST_STRING_LENGTH];
	uint64_t bytes;
	char left[160];        /* "redis-server (4711), ...", see leavers.h */
};

struct trial_plan {
	char **argv, **env;    /* argv[0] as execvp(3) finds it */
	bool preloaded; /* with the library: told so (stage_run_variable) */
	const struct group *group; /* or NULL */
	uint64_t limit;
	/* on a terminal: called every fifth of a second */
	void (*tick)(double seconds, void *arg);
	void *arg;
};

/* Signals that end us are held back from here on, and end a trial. */
void trial_begin(void);
int trial_signal(void); /* one of those has come, or 0 */
void trial_die(void); /* by that one, if it has */

/* What is a file is read again by each; other input nobody gets, as the first
 * would take it from the others. */
bool trial_has_input(void);

/* 0, -EINTR: a signal has come, and the program has ended; or -errno. */
int trial_run(const struct trial_plan *plan, struct trial *ret);
