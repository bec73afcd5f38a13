/* SPDX-License-Identifier: MIT */
/* help.c - -h and --help, the same way everywhere. */
#include <getopt.h>
#include <stdio.h>

#include "cmd.h"

int cmd_options(int argc, char **argv, int least, int most, const char *help)
{
	static const struct option known[] = {
		{ "help", no_argument, NULL, 'h' },
		{ 0 },
	};
	int c = getopt_long(argc, argv, "+h", known, NULL), given;

	if (c == 'h') {
		fputs(help, stdout);
		return 0;
	}
	given = argc - optind;
	if (c == -1 && given >= least && given <= most)
		return -1;
	fputs(help, stderr);
	return 2;
}
