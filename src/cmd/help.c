/* SPDX-License-Identifier: MIT */
/* help.c - -h and --help, and what is wrong with arguments, the same way
 * everywhere. */
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cmd.h"

/* One line: what is wanted is the help's first one, without what it says of
 * it behind three blanks. */
int cmd_usage(const char *help, const char *why)
{
	const char *line = help + strlen("usage: ");
	const char *blanks = strstr(line, "   ");
	size_t n = strcspn(line, "\n");

	if (blanks && blanks < line + n)
		n = (size_t)(blanks - line);
	fprintf(stderr, "fastmap: %s: %.*s\n", why, (int)n, line);
	return 2;
}

static int help_count(const char *help, int given, int least)
{
	return cmd_usage(help, given < least ? "an argument is missing" :
					       "too many arguments");
}

/* `order`: of getopt_long, which knows no other short options. */
static int help_parse(int argc, char **argv, const char *order,
		      const struct option *known, int least, int most,
		      const char *help, cmd_take_fn *take, void *arg)
{
	char *own = argv[0], name[64];
	int c, given;

	snprintf(name, sizeof(name), "fastmap %s", own);
	argv[0] = name; /* getopt_long's messages begin with it */
	do
		c = getopt_long(argc, argv, order, known, NULL);
	while (!c || (take && c != -1 && c != 'h' && c != '?' &&
		      take(arg, c, optarg)));
	argv[0] = own;
	if (c == 'h') {
		fputs(help, stdout);
		return 0;
	}
	given = argc - optind;
	if (c == -1 && given >= least && given <= most)
		return -1;
	return c == -1 ? help_count(help, given, least) : 2;
}

int cmd_options(int argc, char **argv, int least, int most, const char *help)
{
	static const struct option known[] = { CMD_HELP, { 0 } };

	return help_parse(argc, argv, "+h", known, least, most, help, NULL,
			  NULL);
}

int cmd_flags(int argc, char **argv, const struct option *known, int least,
	      int most, const char *help)
{
	return help_parse(argc, argv, "h", known, least, most, help, NULL,
			  NULL);
}

int cmd_values(int argc, char **argv, const struct option *known, int least,
	       int most, const char *help, cmd_take_fn *take, void *arg)
{
	return help_parse(argc, argv, "+h", known, least, most, help, take,
			  arg);
}

bool cmd_between(const char *text, double least, double most, double *ret)
{
	char *end;
	const double v = strtod(text, &end);

	if (end == text || *end || !(v >= least && v <= most))
		return false;
	*ret = v;
	return true;
}
