/* SPDX-License-Identifier: MIT */
/*
 * top_terminal.c - can this terminal be drawn on? Asked before ncurses is
 * started, which would end the process itself.
 */
#include <curses.h>
#include <stdio.h>
#include <stdlib.h>
#include <term.h>
#include <unistd.h>

#include "top_terminal.h"

static int top_terminal_refuse(const char *what, const char *why)
{
	fprintf(stderr, "fastmap: top: %s%s; --once prints instead\n", what,
		why);
	return -1;
}

int top_terminal_check(void)
{
	const char *name = getenv("TERM");
	const char *cup;
	char term[64];
	int err;

	snprintf(term, sizeof(term), "TERM=%.50s ", name ? name : "");
	if (!isatty(STDIN_FILENO) || !isatty(STDOUT_FILENO))
		return top_terminal_refuse("", "it needs a terminal");
	if (!name || !*name)
		return top_terminal_refuse("", "TERM is not set");
	if (setupterm(NULL, STDOUT_FILENO, &err) != OK)
		return top_terminal_refuse(term, "is not known here");
	cup = tigetstr("cup");
	if (!cup || cup == (char *)-1)
		return top_terminal_refuse(term, "cannot move the cursor");
	return 0;
}
