/* SPDX-License-Identifier: MIT */
/* save.c - fastmap save: what is hot in a running process, for the next one. */
#include <getopt.h>

#include "cmd.h"
#include "live.h"

int cmd_save(int argc, char **argv)
{
	int r = cmd_options(
		argc, argv, 1, 1,
		"usage: fastmap save WHO\n\n"
		"The process writes down now which pages of its files are hot "
		"(else it does so every\nfew minutes and at its end), for the "
		"warm start of the next one. Makes the folder\nfor that, if "
		"there is none (fastmap options warm-start). WHO is a process "
		"id, the\nname of a program, or a socket.\n");

	return r >= 0 ? r : live_do(argv[optind], "save");
}
