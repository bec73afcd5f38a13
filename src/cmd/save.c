/* SPDX-License-Identifier: MIT */
/* save.c - fastmap save: what is hot in a running process, for the next one. */
#include "cmd.h"
#include "live.h"

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
