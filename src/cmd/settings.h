/* SPDX-License-Identifier: MIT */
/*
 * settings.h - what `fastmap run` and `fastmap compare` are told of the
 * library: options become the variables that it reads (--NAME is NAME in the
 * table that policy files use), and LD_PRELOAD names it.
 */
#pragma once

#include <getopt.h>

#include "program.h"

/* The options of a command that runs a program: all that the library knows,
 * --policy, --library, --help, and `own`, from SETTINGS_OWN on (to a NULL
 * name), which take() is told of: 0, or -1 and said. What is not its own goes
 * into the environment. -1, and optind is where the program stands, or what to
 * end with. */
enum { SETTINGS_OWN = 2000 };
struct settings_command {
	const char *name; /* "fastmap run" */
	const struct option *own;
	int (*take)(int c, const char *value);
	void (*help)(void);
};
int settings_parse(const struct settings_command *command, int argc,
		   char **argv);
void settings_help(void); /* a line for each but `own` */

/* The library's file, of PATH_MAX bytes. -1: there is none, and said. */
int settings_library(char *ret_full);
/* Behind what LD_PRELOAD names already. */
int settings_preload(const char *full);
/* libfastmap-heap.so before it, where a heap is asked for. */
int settings_preload_heap(const char *library);

/* With the policy loaded: why no file of this program will be served, or NULL.
 * Static text. */
const char *settings_why_not(const char *name, const struct program *p);
