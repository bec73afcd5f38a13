/* SPDX-License-Identifier: MIT */
/* pattern.h - which page of the file comes next. */
#ifndef BENCH_PATTERN_H
#define BENCH_PATTERN_H

#include <stdbool.h>
#include <stdint.h>

#define MAX_STREAMS 64

struct zipf {
	uint64_t n;
	double theta, zetan, alpha, eta, half;
};

struct pattern_conf {
	uint64_t pages;      /* pages of the mapped range */
	uint64_t hot_pages;  /* scanhot: size of the hot set */
	unsigned hot_percent;/* scanhot: share of accesses that go there */
	unsigned stride;     /* in pages */
	unsigned streams;    /* interleaved sequential readers per thread */
	double theta;
	struct zipf zipf;
};

/* One per thread. */
struct pattern {
	const struct pattern_conf *conf;
	uint64_t rng, pos, lap;
	unsigned turn;
	bool hot;            /* the last page belonged to the hot set */
	uint64_t stream[MAX_STREAMS];
	uint64_t (*next)(struct pattern *p);
};

uint64_t rng_next(uint64_t *state);

/* Once per process, after `pages` is known. */
void pattern_setup(struct pattern_conf *conf, const char *name);
/* Thread `i` of `n`. Returns 0 or -1 when the name is unknown. */
int pattern_init(struct pattern *p, const struct pattern_conf *conf,
		 const char *name, unsigned i, unsigned n, uint64_t seed);

#endif
