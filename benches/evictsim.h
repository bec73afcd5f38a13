/* SPDX-License-Identifier: MIT */
/*
 * evictsim.h - eviction policies as callbacks over a trace of page touches.
 * Pages are numbered 0..npages-1 (dense), time is the index in the trace.
 */
#ifndef BENCH_EVICTSIM_H
#define BENCH_EVICTSIM_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "cache/evict_policy.h"

#define NONE UINT32_MAX

/* The engine's queues from L_SMALL on. */
enum list_id {
	L_OUT, L_SMALL, L_MAIN, L_STANDBY = L_SMALL + FM_EVICT_QUEUES, L_GHOST,
	LISTS
};

struct list {
	uint32_t head, tail; /* newest at head */
	uint64_t len;
};

struct sim {
	const struct evict_policy *policy;
	uint32_t npages;
	uint64_t cache;            /* pages */
	uint64_t ntrace;
	const uint32_t *trace;
	struct list list[LISTS];
	uint32_t *prev, *next;
	uint8_t *where, *freq;     /* which list, reference count or bit */
	uint64_t now;
	uint64_t soft;             /* touches served by the standby list */
	uint64_t *when;            /* Belady: next use of a resident page */
	const uint64_t *next_use;  /* Belady: per trace position */
	struct heap_entry {
		uint64_t when;
		uint32_t page;
	} *heap;
	uint64_t nheap;
};

struct evict_policy {
	const char *name, *more; /* its name is both */
	bool (*touch)(struct sim *s, uint32_t page); /* true: no I/O needed */
	const struct fm_evict_policy *engine;        /* or NULL */
};

struct evict_policies {
	struct evict_policy p[2 * FM_EVICT_POLICIES + 8];
	size_t n;
};

void evict_policies(struct evict_policies *ret);

#endif
