/* SPDX-License-Identifier: MIT */
/* set.c - fastmap set, reload, save: what a running process is told to do. */
#include <getopt.h>
#include <stdio.h>
#include <string.h>

#include "base/control.h"
#include "cmd.h"
#include "live.h"
#include "policy.h"

/* What the process would refuse is refused here, before it is asked. -1, or an
 * exit status. */
static int set_judge(const char *key, const char *value)
{
	char why[256];

	if (!fm_policy_judge(key, value, why, sizeof(why)))
		return -1;
	fprintf(stderr, "fastmap: %s\n", why);
	return 2;
}

int cmd_set(int argc, char **argv)
{
	char line[FM_CONTROL_LINE];
	int r = cmd_options(
		argc, argv, 3, 3,
		"usage: fastmap set WHO KEY VALUE\n\n"
		"Another value for an option of a running process, until it "
		"ends; answers with the\nvalue in effect. Options that can be "
		"changed: cache, lazy, log, map-ahead, wb-high,\nwb-low, "
		"wb-interval, promote (fastmap options KEY says what it "
		"means). WHO is a\nprocess id, the name of a program, or a "
		"socket.\n");

	if (r >= 0)
		return r;
	argv += optind;
	r = set_judge(argv[1], argv[2]);
	if (r >= 0)
		return r;
	if (snprintf(line, sizeof(line), "set %s %s", argv[1], argv[2]) >=
		    (int)sizeof(line) || strchr(line, '\n')) {
		fprintf(stderr, "fastmap: the value is too long, or of several "
			"lines\n");
		return 2;
	}
	return live_do(argv[0], line);
}

int cmd_reload(int argc, char **argv)
{
	return live_word(
		argc, argv,
		"usage: fastmap reload WHO\n\n"
		"The process reads its policy file now (else within a second "
		"of a change). Says what\nis another value now, or which line "
		"is bad. WHO is a process id, the name of a\nprogram, or a "
		"socket.\n",
		"reload");
}

int cmd_save(int argc, char **argv)
{
	return live_word(
		argc, argv,
		"usage: fastmap save WHO\n\n"
		"The process writes down now which pages of its files are hot "
		"(else it does so every\nfew minutes and at its end), for the "
		"warm start of the next one. Makes the folder\nfor that, if "
		"there is none (fastmap options warm-start). WHO is a process "
		"id, the\nname of a program, or a socket.\n",
		"save");
}
