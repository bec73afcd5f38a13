/* SPDX-License-Identifier: MIT */
/*
 * rounds.h - a program natively and under the library, in turns: what `fastmap
 * compare` does, and `fastmap suggest` with what it suggests.
 */
#pragma once

#include <limits.h>

#include "compare.h"
#include "group.h"
#include "settings.h"

struct rounds {
	struct comparison c;
	unsigned n;       /* rounds that are wanted */
	char **native, **ours; /* environments */
	bool quiet;       /* but on a terminal */
	struct group group;
	char folder[PATH_MAX]; /* of statistics */
};

/* Options: --memory, --rounds, --same, --cold. */
enum { ROUNDS_MEMORY = SETTINGS_OWN, ROUNDS_N, ROUNDS_SAME, ROUNDS_COLD,
       ROUNDS_END };
#define ROUNDS_OPTIONS                                         \
	{ "memory", required_argument, NULL, ROUNDS_MEMORY },  \
	{ "rounds", required_argument, NULL, ROUNDS_N },       \
	{ "same", required_argument, NULL, ROUNDS_SAME },      \
	{ "cold", required_argument, NULL, ROUNDS_COLD }

/* One of these, of `command`; at least so many rounds. 0, or -1 and said. */
int rounds_take(struct rounds *r, const char *command, int c, const char *value,
		unsigned least);

/* Before anything is set, for what a program has without us: settings_parse(),
 * where the library is not. argv is behind main's first. */
int rounds_parse(struct rounds *r, const struct settings_command *command,
		 int argc, char **argv);

/* This one is to be run, its paths known, and the library set. 0, or -1 and
 * said. */
int rounds_program(struct rounds *r, char **argv);

/* Before the first run, and behind the last. 0, or -1 and said. */
int rounds_begin(struct rounds *r);
void rounds_end(struct rounds *r);
/* Files as they were, and a cold page cache: before each run. */
int rounds_prepare(struct rounds *r);
/* All runs. -1: it could not be run, which was said, or a signal has come
 * (trial_signal). */
int rounds_run(struct rounds *r);
