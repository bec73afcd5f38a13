/* SPDX-License-Identifier: MIT */
/*
 * top_model.h - what `fastmap top` shows, without a terminal: the statistics of
 * a process as numbers, and what happened between two of them.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

/* Growing totals of a file: faults of any kind, those that found the page
 * absent, those that found it in memory after all, bytes. */
enum top_total { TOP_FAULTS, TOP_ABSENT, TOP_HITS, TOP_READ, TOP_WRITTEN,
		 TOP_TOTALS };

struct top_file {
	char *path, *why; /* why: the kernel serves it; "" if it does not */
	uint64_t device, inode, size, resident, dirty;
	const char *server; /* "engine", "advised", "kernel" */
	bool engine;
	uint64_t total[TOP_TOTALS];
	double rate[TOP_TOTALS]; /* per second; top_rates */
	double hit;              /* percent; below 0: no fault to tell by */
};

struct top_process {
	pid_t pid;
	char *program; /* without its folder */
	double uptime; /* s */
	uint64_t limit, resident, dirty, lazy;
	uint64_t heap, heap_out; /* bytes; in the file, not in memory */
	double heap_used;        /* percent; below 0: not known */
	double p50, p99; /* us */
	double rate[TOP_TOTALS], hit; /* sums of the files' */
	unsigned files;
	struct top_file *file;
	json_t *stats; /* that all of it is from */
};

/* From the statistics: files that are mapped, and those left to the kernel.
 * NULL: that is no such document, or no memory. */
struct top_process *top_process_new(const json_t *stats);
void top_process_free(struct top_process *p); /* NULL is fine */

/* What has happened since `before`, an earlier one of the same process; NULL,
 * or one of another: since it was started. */
void top_rates(struct top_process *now, const struct top_process *before);
