/* SPDX-License-Identifier: MIT */
/*
 * run.c - fastmap run: options become environment variables, the library goes
 * behind what LD_PRELOAD already names, and the program takes our place.
 */
#include <errno.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "base/log.h"
#include "cmd.h"
#include "policy.h"
#include "settings.h"
#include "stage.h"

static void run_help(void)
{
	printf("usage: fastmap run [OPTION...] [--] PROGRAM [ARG...]\n\n");
	settings_help();
}

/* The library would find the same wrong: told once, here. -1: strict. */
static int foretell(const char *name, const struct program *p)
{
	const char *why;

	fm_policy_load_for(p->argv0, p->file, environ);
	stage_run_variable();
	if (fm_settings()->mode == FM_MODE_OFF)
		return 0;
	why = settings_why_not(name, p);
	if (why && fm_settings()->strict)
		fm_log(FM_LOG_ERROR, "%s; strict: not run", why);
	else if (why)
		fm_log(FM_LOG_WARN, "%s", why);
	return why && fm_settings()->strict ? -1 : 0;
}

static int not_run(const char *name, int err)
{
	fprintf(stderr, "fastmap: %s: %s\n", name, strerror(err));
	return err == ENOENT ? 127 : 126; /* as env(1) */
}

static int run(char **argv)
{
	static struct program p;
	char real[PATH_MAX];
	int err;

	if (settings_library(real))
		return 1;
	err = program_find(argv[0], &p);
	if (err)
		return not_run(argv[0], err);
	if (foretell(argv[0], &p))
		return 125;
	if (!p.harmed && (settings_preload_heap(real) ||
			  settings_preload(real)))
		return 1;
	execvp(argv[0], argv);
	return not_run(argv[0], errno);
}

int cmd_run(int argc, char **argv)
{
	static const struct option none[] = { { 0 } };
	static const struct settings_command command = {
		"fastmap run", none, NULL, run_help,
	};
	const int status = settings_parse(&command, argc, argv);

	if (status >= 0)
		return status;
	if (optind >= argc) {
		fprintf(stderr, "fastmap run: no program given; see --help\n");
		return 2;
	}
	return run(argv + optind);
}
