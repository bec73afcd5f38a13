/* SPDX-License-Identifier: MIT */
/*
 * suggestion.h - from statistics to a policy file: which files gain from the
 * engine, what the cache should be, and settings, each with its reason.
 */
#pragma once

#include <jansson.h>
#include <stdio.h>

/* What came of trying it, in a sentence, or NULL and why it was not tried: "",
 * or in brackets. */
struct suggestion_trial {
	const char *verdict, *why_not;
};

/* Of an array of statistics, one for each process, those of the one that had
 * the most to do: the others are its helpers. NULL: they are none of ours. */
const json_t *suggestion_of(const json_t *docs);

/* A policy file with comments. `memory`: bytes that the program may use, where
 * its statistics do not say so. */
void suggestion_write(const json_t *doc, uint64_t memory,
		      const struct suggestion_trial *t, FILE *out);
