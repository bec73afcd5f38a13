/* SPDX-License-Identifier: MIT */
/*
 * load.h - the load generator's own nouns.
 *
 *   range   the part of the file that is mapped and touched
 *   access  one touch of one page: a word of it, or with --touch all every word
 *   worker  one thread with its own pattern, histogram and counts
 *   member  one process of the run, with its workers; there is one, or as many
 *           as --forked or --processes says
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
#define MAX_MEMBERS 64
#define MAX_PROGRESS 128

enum op { OP_READ, OP_WRITE, OP_RMW };

struct load {
	const char *file, *pattern, *hint, *written_path, *trace_path;
	const char *progress_path;
	const char *member_text;     /* we are a member of another's run */
	enum op op;
	bool touch_all, verify, populate;
	unsigned threads, sample;
	unsigned forked, processes;  /* members; 0: this process only */
	unsigned member, members;    /* which, of how many */
	double seconds, settle;
	uint64_t ops;          /* per thread; 0: for `seconds` */
	uint64_t offset, range, prefill, window, live, hot, gen, seed, accesses;
	struct pattern_conf conf;
	int fd, prot;
	dev_t dev;
	char *base;
	_Atomic uint64_t *written;   /* bitmap of stored pages, shared */
	_Atomic uint64_t *trace;     /* recorded accesses, or NULL */
	uint64_t trace_max;
	_Atomic uint64_t trace_n;
	struct shared *shared;
};

/* Seconds; of the slowest worker where there are several. */
struct passes {
	double first, second, random, later, later_pass;
	uint64_t touches;
};

struct worker {
	pthread_t thread;
	struct load *load;
	struct pattern pat;
	struct hist hist;
	struct passes passes;
	uint64_t accesses, wrong, hot, hot_hits, sum, end_ns;
	unsigned id;         /* among the workers of all members */
	_Atomic uint64_t *progress; /* its accesses up to now, or NULL */
};

__attribute__((noreturn)) void usage(void);
__attribute__((noreturn)) void fail(const char *what);
/* Zeros that take memory once they are touched. */
void *zeroed(size_t len);

void open_file(struct load *l);
void map_file(struct load *l);
/* Reads l->prefill bytes, before anything is measured. */
void prefill(struct load *l, struct worker *w);

typedef void worker_fn(struct worker *w);

/* Who follows the run sees how far it is. */
static inline void done(struct worker *w, uint64_t n)
{
	w->accesses += n;
	if (w->progress)
		atomic_store_explicit(w->progress, w->accesses,
				      memory_order_relaxed);
}

/* Touches one page of the range at `addr`; counts wrong words. */
void touch(struct worker *w, char *addr, uint64_t page, enum op op);

/* Worker bodies. */
void run_pattern(struct worker *w); /* every pattern of pattern.h */
void run_fresh(struct worker *w);   /* map a window, touch, unmap */
void run_pair(struct worker *w);    /* mmap + munmap of 4 KiB, untouched */
/* calls that are not the engine's business */
void run_foreign(struct worker *w);

void run_fits(struct worker *w);    /* passes over data that fits */

#endif
