/* SPDX-License-Identifier: MIT */
/* help.h - the only option of programs that take words. */
#ifndef BENCH_HELP_H
#define BENCH_HELP_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Ends with the text where it is asked for, or where words are missing. */
static inline void help(int argc, char **argv, int least, const char *text)
{
	if (argc > 1 &&
	    (!strcmp(argv[1], "-h") || !strcmp(argv[1], "--help"))) {
		fputs(text, stdout);
		exit(0);
	}
	if (argc < least) {
		fputs(text, stderr);
		exit(2);
	}
}

#endif
