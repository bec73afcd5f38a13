/* SPDX-License-Identifier: MIT */
/*
 * load.h - the load generator's own nouns.
 *
 *   range   the part of the file that is mapped and touched
 *   access  one touch of one page: a word of it, or with --touch all every word
 *   worker  one thread with its own pattern, histogram and counts
 */
#ifndef BENCH_LOAD_H
#define BENCH_LOAD_H

#include "content.h"
#include "hist.h"
#include "measure.h"
#include "pattern.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/types.h>

#define HOT_NS 10000 /* a hot access faster than this was a hit */

enum op { OP_READ, OP_WRITE, OP_RMW };

struct load {
	const char *file, *pattern, *hint, *written_path, *trace_path;
	enum op op;
	bool touch_all, verify, populate, prefault_hot;
	unsigned threads, sample;
	double seconds, settle;
	uint64_t ops;          /* per thread; 0: for `seconds` */
	uint64_t offset, range, prefill, window, live, hot, gen, seed, accesses;
	struct pattern_conf conf;
	int fd, prot;
	dev_t dev;
	char *base;
	_Atomic uint64_t *written;   /* bitmap of pages stored to, or NULL */
	_Atomic uint64_t *trace;     /* recorded accesses, or NULL */
	uint64_t trace_max;
	_Atomic uint64_t trace_n;
	_Atomic bool stop;
	pthread_barrier_t start;
};

struct worker {
	pthread_t thread;
	struct load *load;
	struct pattern pat;
	struct hist hist;
	uint64_t accesses, wrong, hot, hot_hits, sum, end_ns;
	unsigned id;
};

typedef void worker_fn(struct worker *w);

/* Touches one page of the range at `addr`; counts wrong words. */
void touch(struct worker *w, char *addr, uint64_t page, enum op op);

/* Worker bodies. */
void run_pattern(struct worker *w); /* every pattern of pattern.h */
void run_fresh(struct worker *w);   /* map a window, touch, unmap */
void run_pair(struct worker *w);    /* mmap + munmap of 4 KiB, untouched */
/* calls that are not the engine's business */
void run_foreign(struct worker *w);

/* Prints its own members: pass times over data that fits. */
void run_fits(struct load *l, struct worker *w);

#endif
