/* SPDX-License-Identifier: MIT */
/*
 * again.h - what the engine's faults took of late for pages that had been there
 * until they were unmapped (cache/unmapped.h), beside all that they took.
 *
 * With the kernel these are in the page cache, and cost nothing to speak of;
 * no more do room for what is stored to holes, and words to other processes,
 * before which nothing has to be written. They are weighed alike.
 * So the kernel costs less by a quarter (cost.h) if these were a quarter of
 * all, the rest being the same with both. Who changes once they come to what
 * the change takes has paid twice the least possible, at most. Nothing but
 * arithmetic.
 */
#pragma once

#include "lately.h"

struct fm_again {
	struct fm_lately spent, again;
	uint64_t spent_seen_ns, again_seen_ns; /* up to the last look */
};

/* [plain] By one thread at a time: spent and again are growing totals, in ns.
 * Is it time for the kernel to have the file, which costs move_ns? */
bool fm_again_pays(struct fm_again *a, uint64_t spent_ns, uint64_t again_ns,
		   uint64_t move_ns, uint64_t now_ms);
/* [plain] What is lost so, in thousandths of a thread. */
uint32_t fm_again_lost(const struct fm_again *a, uint64_t now_ms);
