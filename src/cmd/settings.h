/* SPDX-License-Identifier: MIT */
/*
 * settings.h - what `fastmap run` and `fastmap compare` are told of the
 * library: options become the variables that it reads (--NAME is NAME in the
 * table that policy files use), and LD_PRELOAD names it.
 */
#pragma once

#include <getopt.h>

#include "program.h"

/* For getopt_long: all that the library knows, --policy, --library, `own` (to
 * a NULL name), and --help as 'h'. */
const struct option *settings_options(const struct option *own);
void settings_help(void); /* a line for each but `own` */

/* One that is not of `own`: into the environment. -1: it is bad, and said. */
int settings_take(const char *command, int c, const char *value);

/* The library's file, of PATH_MAX bytes. -1: there is none, and said. */
int settings_library(char *ret_full);
/* Behind what LD_PRELOAD names already. */
int settings_preload(const char *full);
/* libfastmap-heap.so before it, where a heap is asked for. */
int settings_preload_heap(const char *library);

/* With the policy loaded: why no file of this program will be served, or NULL.
 * Static text. */
const char *settings_why_not(const char *name, const struct program *p);
