/* SPDX-License-Identifier: MIT */
/*
 * compare.c - fastmap compare: a program natively and under the library, in
 * turns, in the same memory and with a cold cache; is its output the same, and
 * what does it cost.
 */
#include "compare.h"

#include <stdio.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd.h"
#include "rounds.h"
#include "settings.h"

#define NAME "fastmap compare"

enum { OPT_JSON = ROUNDS_END };

static const struct option own_options[] = {
	ROUNDS_OPTIONS,
	{ "json", no_argument, NULL, OPT_JSON },
	{ 0 },
};

static struct rounds all = { .n = 3 };
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

static int compare_take(int c, const char *value)
{
	if (c == OPT_JSON) {
		json = true;
		return 0;
	}
	return rounds_take(&all, NAME, c, value, 1);
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
	if (rounds_program(&all, argv))
		return 2;
	if (all.c.cold == COLD_FILES && !all.c.paths) {
		fm_log(FM_LOG_WARN, "the page cache is not dropped: the paths "
		       "are in a policy file (--paths, or --cold all)");
		all.c.cold = COLD_NO;
	}
	return compare();
}

int cmd_compare(int argc, char **argv)
{
	static const struct settings_command command = {
		NAME, own_options, compare_take, compare_help,
	};
	const int status = rounds_parse(&all, &command, argc, argv);

	if (status >= 0)
		return status;
	if (optind >= argc) {
		fprintf(stderr, NAME ": no program given; see --help\n");
		return 2;
	}
	return compare_start(argv + optind);
}
