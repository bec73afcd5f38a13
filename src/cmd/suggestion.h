/* SPDX-License-Identifier: MIT */
/*
 * suggestion.h - from statistics to a policy file: which files gain from the
 * engine, what the cache should be, and settings, each with its reason.
 */
#ifndef FM_CMD_SUGGESTION_H
#define FM_CMD_SUGGESTION_H

#include <jansson.h>
#include <stdio.h>

/* `docs`: an array of statistics, one for each process. `memory`: bytes that
 * the program may use. Writes a policy file with comments. -1: that is no
 * array of statistics of ours. */
int suggestion_write(const json_t *docs, uint64_t memory, FILE *out);

#endif
