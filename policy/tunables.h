/* SPDX-License-Identifier: MIT */
/*
 * tunables.h - the figures that the engine decides by, one global struct with
 * the values of tunables.def. Written once, before anything is mapped; then
 * whoever reads one takes a plain load, in fault context too.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Each has the type of its value, as the macro of a number would. */
struct fm_tunables {
#define FM_TUNABLE(room, name, value, unit, least, most, reason, measured) \
	__typeof__(value) name;
#include "tunables.def"
};
/* Hidden, or each read would go through the table of addresses. */
extern struct fm_tunables fm_tune __attribute__((visibility("hidden")));

/* What may be set. All values are whole numbers, if some as doubles. */
/* Without a pointer: the loader would fill in two pages at each start. */
struct fm_tunable {
	char name[32];
	size_t offset, size; /* of what is in fm_tune */
	bool real;            /* a double */
	uint64_t least, most; /* that it may be set to */
};
extern const struct fm_tunable fm_tunables[];
extern const unsigned fm_tunable_count;

/* [plain] What it is now. */
uint64_t fm_tunable_value(const struct fm_tunable *t);
/* [plain] "NAME=VALUE,NAME=VALUE" of FASTMAP_TUNE, for experiments. What is
 * unknown or out of its range is told of on stderr, and stays as it is: how
 * many. */
unsigned fm_tunables_set(const char *text);
