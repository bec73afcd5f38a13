/* SPDX-License-Identifier: MIT */
/*
 * compare.c - fastmap compare: a program natively and under the library, in
 * turns, in the same memory and with a cold cache; is its output the same, and
 * what does it cost.
 */
#include "compare.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd.h"
#include "rounds.h"
#include "settings.h"
#include "stage.h"

#define NAME "fastmap compare"

enum { OPT_JSON = ROUNDS_END };

static const struct option own_options[] = {
	ROUNDS_OPTIONS,
	{ "json", no_argument, NULL, OPT_JSON },
	{ 0 },
};

static struct rounds all = { .n = 3 };
static struct program program;
static bool json;

static void compare_help(void)
{
	printf("usage: fastmap compare [OPTION...] [--] PROGRAM [ARG...]\n\n"
	       "Runs it natively and with the library, in turns. Status: 0 the "
	       "same output,\n1 outputs differ, 2 it could not be compared: it fails, "
	       "or differs, natively, too.\n\n"
	       "  --memory SIZE           in a memory control group of this "
	       "size\n"
	       "  --rounds N              runs of each, 1 to 99 (default 3)\n"
	       "  --same FILE             that it writes and that must come out "
	       "alike; each\n"
	       "                          run begins with what it holds now\n"
	       "  --cold files|all|no     before each run drop from the page "
	       "cache: the files\n"
	       "                          below the paths (default), "
	       "everything (as root), nothing\n"
	       "  --json                  the result as JSON\n\n"
	       "Without --paths: files and folders that the arguments name. "
	       "For the library:\n\n");
	settings_help();
}

static int compare_take(int c)
{
	if (c == OPT_JSON) {
		json = true;
		return 0;
	}
	if (c >= ROUNDS_MEMORY && c < ROUNDS_END)
		return rounds_take(&all, NAME, c, optarg, 1);
	return settings_take(NAME, c, optarg);
}

/* 0, or -1: nothing would be served. */
static int look_ahead(char **argv)
{
	const int guessed = stage_paths(argv, &program);

	all.c.guessed = guessed > 0;
	all.c.paths = getenv("FASTMAP_PATHS");
	return guessed < 0 ? -1 : 0;
}

/* ---- the command -------------------------------------------------------- */

static int compare(void)
{
	int failed;

	all.quiet = json;
	trial_begin();
	failed = rounds_begin(&all);
	all.ours = environ;
	if (!failed)
		failed = rounds_run(&all);
	rounds_end(&all);
	trial_die();
	if (failed)
		return 2;
	if (json)
		report_json(&all.c);
	else
		report_table(&all.c);
	if (too_little_memory(&all.c) || differs_natively(&all.c))
		return 2;
	if (!same_output(&all.c))
		return 1;
	return fails_natively(&all.c) ? 2 : 0;
}

static int compare_start(char **argv)
{
	static char real[PATH_MAX];
	int err = program_find(argv[0], &program);

	if (err) {
		fprintf(stderr, "fastmap: %s: %s\n", argv[0], strerror(err));
		return 2;
	}
	if (settings_library(real) || look_ahead(argv) ||
	    settings_preload_heap(real) || settings_preload(real))
		return 2;
	if (all.c.cold == COLD_FILES && !all.c.paths) {
		fm_log(FM_LOG_WARN, "the page cache is not dropped: the paths "
		       "are in a policy file (--paths, or --cold all)");
		all.c.cold = COLD_NO;
	}
	all.c.argv = argv;
	all.c.library = real;
	return compare();
}

int cmd_compare(int argc, char **argv)
{
	int c;

	stage_leave_library(argv - 1); /* all of main's */
	all.native = rounds_native();
	argv[0] = NAME; /* getopt_long's messages begin with it */
	while ((c = getopt_long(argc, argv, "+h",
				settings_options(own_options), NULL)) != -1) {
		if (c == 'h') {
			compare_help();
			return 0;
		}
		if (c == '?' || compare_take(c))
			return 2;
	}
	if (optind >= argc) {
		fprintf(stderr, NAME ": no program given; see --help\n");
		return 2;
	}
	return compare_start(argv + optind);
}
