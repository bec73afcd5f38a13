/* SPDX-License-Identifier: MIT */
/* command_line.h - how a program was started, as a line for a shell. */
#pragma once

#include <jansson.h>
#include <stdio.h>

/* Its arguments, quoted where a shell would read them otherwise. */
void command_put(char **argv, FILE *out);
/* The same of the process that these statistics are of, with `head` in front
 * and where it runs; of one that is not here any more its program only. */
void command_of(const json_t *doc, const char *head, FILE *out);
