/* SPDX-License-Identifier: MIT */
/*
 * cost.h - what an access costs with each of the two servers, as far as it can
 * be told beforehand. Nothing but arithmetic.
 *
 *   cost(server) = part of the accesses that miss x what a miss takes
 *     + of the engine: to take over what is mapped anew, to look for other
 *       processes, and to ask for the blocks of holes
 *
 * Accesses are taken to be spread over what is in use; of that a server misses
 * what its memory does not hold. The engine holds its cache. The kernel holds
 * all that others leave, for page cache needs no reserve, or nearly all where
 * that does not suffice.
 *
 * Who reads in order waits for the device's bytes, with either.
 *
 * What comes along with a miss saves others, and makes it longer: of both as
 * much as was counted (miss.h). A miss takes the same with both, and saves as
 * much, where nothing is known of that. But of as large a part of it as the
 * process uses of all CPUs, which is work on them, the kernel has less: no
 * signal, no copy, no look for the page. Where fewer threads wait than there
 * are CPUs, each has one to poll on, and is done no sooner for what that uses.
 * What is in the page cache already the
 * kernel does not miss, while the engine begins with nothing. What the engine
 * does beside misses is measured, as time of a thread, and counts where it is
 * worth a change at all: one that has an access each microsecond is assumed.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "miss.h"

/* Bytes, nanoseconds. */
struct fm_cost_facts {
	uint64_t engines; /* in use of what the engine would have */
	uint64_t all;     /* and with what the kernel has */
	uint64_t cache;   /* that the engine may keep */
	uint64_t memory;  /* that others leave; UINT64_MAX: as the engine */
	uint64_t engine_ns, kernel_ns; /* that a miss takes; 0: not known */
	uint64_t page_ns; /* the least for a page that was asked for: the
			   * device has no more; 0: not known */
	uint32_t cpu; /* thousandths of all CPUs, used for single misses */
	struct fm_miss miss; /* what comes along with one */
	bool cached; /* the kernel has all of it */
	/* that the program has waited for the engine, up to now; that it takes
	 * to read all that is the engine's into the page cache */
	uint64_t waited_ns, reread_ns;
	/* thousandths of a thread */
	uint32_t maps, peers, start, holes;
};

struct fm_costs {
	uint64_t engine, kernel; /* ns an access; a miss: 1000 if unknown */
};

/* [plain] */
struct fm_costs fm_cost(const struct fm_cost_facts *f);
/* [plain] Where no engine runs, and so much is mapped: thousandths of the time
 * until all of that has been read once are lost if one is started. The kernel
 * reads `ahead` bytes at a time, two such reads under way; the engine begins
 * with small ones and doubles. So each read of the kernel's beyond a few is one
 * that the program waits for, read_ns longer than on a common disk. ahead 0:
 * not known. */
uint32_t fm_cost_start(uint64_t bytes, uint64_t ahead, uint64_t read_ns);
/* What the engine takes for a page, in ns: to ask for its block, and to read
 * it. */
struct fm_hole_price {
	uint64_t room, read;
};
/* [plain] The same of a file of which so much is mapped, and so much has been
 * written, where all of it is to be used. Nobody reads a hole, but the engine
 * asks for its block before the store, and so waits where the kernel does not.
 * What is written is read with either. */
uint32_t fm_cost_holes(uint64_t mapped, uint64_t written,
		       const struct fm_hole_price *p);
/* [plain] Where more has been written that is not worth a change. */
uint64_t fm_cost_holes_end(uint64_t mapped, const struct fm_hole_price *p);
/* [plain] As much of a thread's time as counts: what is less than a quarter or
 * so is not worth a change. */
uint64_t fm_cost_counts(uint32_t lost);
/* [plain] Is that too much to start anything for it, as far as is known? */
bool fm_cost_too_small(uint64_t bytes);
/* [plain] Thousandths of the engine's cost that the kernel would save. */
uint32_t fm_cost_kernel_saves(const struct fm_costs *c);
/* [plain] Are these a quarter, or more? */
bool fm_cost_kernel_less(const struct fm_costs *c);
/* [plain] Does what is in use fit into what the kernel would have? */
bool fm_cost_fits(const struct fm_cost_facts *f);
/* [plain] Has the engine been waited for as long as the kernel takes to read
 * all of it anew? Who changes then pays at most twice the least possible,
 * whatever is to come. */
bool fm_cost_rereads(const struct fm_cost_facts *f);
