/* SPDX-License-Identifier: MIT */
/* compare.h - what `fastmap compare` has measured, and how it is told. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cold.h"
#include "same.h"
#include "served.h"
#include "trial.h"

enum side { NATIVE, FASTMAP, SIDES };

#define MOST_ROUNDS 99
#define MOST_SAME 16
enum { ITEM_OUTPUT, ITEM_STATUS, ITEM_FILES, ITEMS = ITEM_FILES + MOST_SAME };

struct comparison {
	char **argv;
	const char *library;
	const char *paths;      /* FASTMAP_PATHS, or NULL: by a policy */
	bool guessed;           /* from the arguments */
	uint64_t memory;        /* bytes; 0: not limited */
	const char *no_memory;  /* why it could not be */
	enum cold cold;
	uint64_t stayed;        /* pages */
	unsigned rounds;        /* that were run */
	struct trial trial[SIDES][MOST_ROUNDS];
	struct served served;   /* in the last round */
	struct same same[MOST_SAME];
	unsigned files;
	/* after the first native run */
	char first[MOST_SAME][MD5_DIGEST_STRING_LENGTH];
	bool differs[SIDES][ITEMS];      /* from the first native run */
};

/* Median and range of a number of a side's runs. */
struct spread {
	double median, least, most;
};
typedef double metric(const struct trial *t);
struct spread spread_of(const struct comparison *c, enum side s, metric *m);
/* Of native to fastmap in each round; 0 where the latter is 0. */
struct spread ratio_of(const struct comparison *c, metric *m);
double metric_seconds(const struct trial *t);
double metric_cpu(const struct trial *t);
double metric_read(const struct trial *t);
double metric_peak(const struct trial *t);
double metric_rss(const struct trial *t);

/* The first run that has left processes behind, which were there 2 s later; or
 * NULL. */
const struct trial *left_behind(const struct comparison *c, enum side *ret);

bool same_output(const struct comparison *c);
/* Natively it did not get by with the memory that it was given. */
bool too_little_memory(const struct comparison *c);
/* It differs from native run to native run; one of them has failed. */
bool differs_natively(const struct comparison *c);
bool fails_natively(const struct comparison *c);
/* In each round, when something was served. */
bool is_faster(const struct comparison *c);
/* One sentence. Static text. */
const char *verdict(const struct comparison *c);
/* What differs: "stdout", "exit status", or a file. */
const char *item_name(const struct comparison *c, unsigned item);

void report_table(const struct comparison *c);
void report_json(const struct comparison *c);
