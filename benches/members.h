/* SPDX-License-Identifier: MIT */
/*
 * members.h - the processes of a run, and what each of them did.
 *
 * One process as a rule. With --forked the file is mapped, and the members are
 * forked then; with --processes each is a program of its own that maps the
 * file. The process that was started only leads them: it starts all workers at
 * one instant, stops them, and adds up.
 */
#ifndef BENCH_MEMBERS_H
#define BENCH_MEMBERS_H

#include "load.h"

struct sizes {
	uint64_t rss, peak, pte, anon;
};

/* Of a member's workers, or of all members. */
struct outcome {
	struct worker sum;
	struct usage used;
	struct sizes sizes;
	double elapsed, sync_s; /* until the last one was done */
};

/* Memory that every member sees. */
struct shared {
	pthread_barrier_t start;
	_Atomic unsigned ready;  /* workers that wait for the start */
	_Atomic bool stop;
	struct outcome member[MAX_MEMBERS];
	struct {
		_Alignas(64) _Atomic uint64_t accesses;
	} progress[MAX_PROGRESS]; /* by worker, as far as there is room */
	_Atomic uint64_t written[]; /* bitmap, where one is wanted */
};

/* After open_file. */
void shared_make(struct load *l);
/* In a program that was started as a member: --member K:FD. */
void shared_open(struct load *l, const char *text);

/* All members, and what they did together. `argv`: what others start with. */
void members_run(struct load *l, char **argv, struct outcome *ret);
/* This process's share, after map_file: prefill, workers, msync. */
void member_run(struct load *l);

#endif
