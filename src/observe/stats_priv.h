/* SPDX-License-Identifier: MIT */
/* stats_priv.h - between stats.c (counting) and stats_json.c (format). All
 * [plain]. */
#pragma once

#include <stddef.h>

#include "base/hist.h"
#include "base/reason.h"
#include "base/types.h"
#include "file/file.h"
#include "observe.h"

/* Higher when a key is gone or means something else; not for a new one. */
#define FM_STATS_SCHEMA 2 /* ABI: ours */

/* A file that was closed; what was mapped again and closed again is one. */
struct fm_retired {
	char path[256];
	FM_BY_INODE;
	uint64_t born; /* as of a file: inode numbers are used again */
	int64_t size;
	struct fm_file_stats st;
};

/* The counters of a file, by number: name, what it counts, value. */
#define FM_STATS_FIELDS \
	(offsetof(struct fm_file_stats, demote_why) / sizeof(uint64_t))
const char *fm_stats_field_name(unsigned i);
const char *fm_stats_field_help(unsigned i);
uint64_t fm_stats_field(const struct fm_file_stats *st, unsigned i);
/* The counters alone; with for how long it was served, too. */
void fm_stats_add(struct fm_file_stats *to, const struct fm_file_stats *from);
void fm_stats_sum(struct fm_file_stats *to, const struct fm_file_stats *from);
bool fm_stats_managed(void); /* any file, until now */
/* Has this one been closed before? born 0: whenever it was made. */
bool fm_stats_was_retired(dev_t dev, ino_t ino, uint64_t born);
uint64_t fm_stats_uptime_ms(void);
/* docs/statistics.md says what they mean; in thousandths. */
uint64_t fm_stats_hits(const struct fm_file_stats *st);
uint64_t fm_stats_amplification(const struct fm_file_stats *st);
struct fm_json;
/* Before what follows: where the kernel serves. alone: the program is dead. */
void fm_stats_ranges(bool alone);
/* What it was told there. */
void fm_stats_advice(struct fm_json *o);
/* Is any of this file's there, and any that may be advised? */
bool fm_stats_mapped(dev_t dev, ino_t ino, bool *ret_advised);
/* For how long a thread has waited for a page that may be this file's. */
uint64_t fm_stats_silent_ms(dev_t dev, ino_t ino);
/* For how long who served it; with the last changes, or without. */
void fm_stats_served(struct fm_json *o, const struct fm_served *s,
		     bool changes);
/* Why it is served by whom it is, and what would change that; alone: the
 * program is dead. */
void fm_stats_why(struct fm_json *o, struct fm_file *f, bool alone);
/* The heap on a file, or null. Under an epoch, but alone. */
void fm_stats_heap(struct fm_json *o, bool alone);
/* The same of a file that the engine has not. */
struct fm_unserved;
void fm_stats_why_left(struct fm_json *o, const struct fm_unserved *l);
/* What was lost with either server, by the trial of the engine. */
void fm_stats_engine_trial(struct fm_json *o, const struct fm_file *f);
/* The trials of another server. */
void fm_stats_choice(struct fm_json *o);
/* In the guardian: whoever held a lock that a document takes is dead. */
void fm_stats_alone(void);
void fm_stats_unlock(void); /* ... or stats.c does */
/* The pattern for this process. -1: it does not fit. */
int fm_stats_path(const char *pattern, int pid, char *buf, size_t size);
/* In the child of fork. */
void fm_stats_json_reset(void);
/* Adds to `sum`, visits those that are kept (FM_MAX_FILES; of what comes then
 * nothing but its counts) in the order of their first end, returns how many
 * files there have been: each of those once, the others as often as they were
 * closed. `each`, or NULL, runs under the lock of the table. */
uint64_t fm_stats_retired(struct fm_file_stats *sum,
			  void (*each)(const struct fm_retired *r, void *arg),
			  void *arg);
