/* SPDX-License-Identifier: MIT */
/*
 * meanings.h - the options as people are told of them. The manual, the
 * completions and the table in docs/options.md come from `fastmap options`.
 */
#pragma once

#include <stddef.h>

#include "set.h"

/* A line with the unit, and the rest in sentences; "" if there is none. */
const char *meaning_line(const struct fm_option *o);
const char *meaning_rest(const struct fm_option *o);

/* What a value looks like: "yes|no", "on|observe|off", "SIZE". */
const char *meaning_value(const struct fm_option *o);

/* From this column on, words in lines of 79 columns that begin at `indent`, and
 * a line feed; nothing for "" at column 0. */
void print_wrapped(int column, int indent, const char *text);

/* `fastmap options --tunables` */
void print_tunables(void);
