/* SPDX-License-Identifier: MIT */
/*
 * stage.h - what is prepared before a program is run under the library to be
 * looked at: our own process is without it, paths, a folder of statistics.
 */
#pragma once

#include <jansson.h>

#include "program.h"

/* We look at the files ourselves, which is nobody's business: under the library
 * we would be one more process on them. Executes us again, if need be; argv is
 * main's. */
void stage_leave_library(char **argv);

/* Loads the policy. Where nothing names paths, FASTMAP_PATHS becomes the files
 * and folders that the arguments name: 1. 0: it was named; -1: nothing would be
 * served, and that was said. */
int stage_paths(char **argv, const struct program *p);

/* A folder of PATH_MAX bytes that each process leaves its statistics in. 0, or
 * -1 and said. */
int stage_folder(char *ret);

/* What they have left there by now, as an array, and removes it. */
json_t *stage_collect(const char *folder);

/* In the child: its settings have been looked at. */
void stage_run_variable(void);
