/* SPDX-License-Identifier: MIT */
/* ctl.c - fastmap ctl WHO WORD...: one line to the control socket. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/control.h"
#include "cmd.h"
#include "live.h"
#include "shown.h"

/* The whole line; false: it does not fit, or is more than one. */
static bool ctl_make_line(char **words, int n, char *line, size_t size)
{
	size_t len = 0;

	for (int i = 0; i < n; i++) {
		int got = snprintf(line + len, size - len, "%s%s",
				   i ? " " : "", words[i]);

		if (got < 0 || (size_t)got >= size - len)
			return false;
		len += (size_t)got;
	}
	return !strchr(line, '\n');
}

static int ctl_show(const char *text)
{
	const bool error = !strncmp(text, "error:", 6);

	shown_lines(text, error ? stderr : stdout);
	return error;
}

int cmd_ctl(int argc, char **argv)
{
	char line[FM_CONTROL_LINE - 1], *text;
	int r = cmd_options(
		argc, argv, 2, 64,
		"usage: fastmap ctl WHO COMMAND [ARG...]   one line to a running\n"
		"                                          process, and its answer\n"
		"       fastmap ctl WHO help               the commands it knows\n"
		"WHO is a process id, the name of a program, or a socket.\n");

	if (r >= 0)
		return r;
	if (!ctl_make_line(argv + optind + 1, argc - optind - 1, line,
			   sizeof(line))) {
		fprintf(stderr, "fastmap: command too long, or of several "
			"lines\n");
		return 2;
	}
	text = live_talk(argv[optind], line);
	if (!text)
		return 1;
	r = ctl_show(text);
	free(text);
	return r;
}
