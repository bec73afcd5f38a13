/* SPDX-License-Identifier: MIT */
/*
 * advised.h - the ranges that the kernel serves, as the helper thread knows
 * them.
 *
 * An advised range is what one mmap call made (fm_krange's id), in up to 64
 * segments of 16 MiB or more. What is touched of it is counted by segment; what
 * follows from that is advice_choice.h's. [plain]
 */
#pragma once

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "helper.h"
#include "krange.h"
#include "pieces.h"
#include "advice_cost.h"

struct fm_segment {
	struct fm_touches seen;    /* since the last look */
	struct fm_opinion opinion;
	uint32_t touched_s;     /* second of the last single touch; 0: never */
	uint8_t advice;         /* fm_advice that the kernel has been told */
	bool huge;              /* and whether MADV_HUGEPAGE */
};

struct fm_advised {
	uint32_t id, undone;
	dev_t dev;
	ino_t ino;
	uintptr_t start, end;
	uintptr_t base;         /* of segment 0: it may have begun earlier */
	size_t segment;         /* bytes */
	unsigned n;
	bool refused;           /* gone, or no room for more mappings */
	bool begun;             /* it was asked how it begins */
	bool asked;             /* what a read of its device takes */
	bool guess;             /* it has begun at MADV_RANDOM, unknown */
	bool stores;            /* may come: large folios cost then */
	struct fm_opinion opinion; /* of the family */
	struct fm_advice_facts facts;
	struct fm_costs_of costs; /* of this look, all segments */
	struct fm_segment *seg;
};

/* What the process has done meanwhile. */
struct fm_advised_use {
	uint64_t faults; /* of all kinds */
	uint64_t major;
	uint64_t bytes;  /* read from a device */
	uint64_t ms;
	uint64_t cpu_ms; /* that it has used */
};

/* What it has seen since the last one, and what the process has done. */
struct fm_look {
	uint64_t faults; /* about, of what was seen */
	uint64_t major, bytes;
	uint64_t single, pages; /* touches here and there, pages in rows */
	uint64_t normal, rows; /* of the touches, pieces of rows, where the
				* kernel reads ahead */
	uint64_t slow;   /* of the pages in rows, where it does not */
	uint64_t read;   /* of these, at most */
};

struct fm_advised_all {
	struct fm_advised *v; /* by address */
	unsigned n;
	uint64_t bytes;    /* of all of them */
	uint32_t seen;     /* changes of the table, and 1 */
	struct fm_krange range[FM_KRANGES];
	struct fm_recent pieces;
	struct fm_opinion opinion; /* of all of them */
	struct fm_look look;
	uint64_t singles;  /* each second what was counts half */
	uint64_t left, left_ms; /* bytes of memory, as last asked */
	uint64_t unread_ms, idle_ms; /* nothing was read for so long */
	bool guess;        /* one is: then a stream waits for the next look */
	bool doubt;        /* the last look spoke against the advice */
	uint32_t aged_s;
};

/* The ranges as they are now. False: there is none. */
bool fm_advised_update(struct fm_advised_all *all);
/* In a child of fork whose parent was about to change them. */
void fm_advised_forget(struct fm_advised_all *all);

/* The one that lies there, or NULL. */
struct fm_advised *fm_advised_at(struct fm_advised_all *all, uintptr_t a);
/* A span has been touched. */
void fm_advised_touched(struct fm_advised_all *all, uintptr_t start,
			uintptr_t end);

/* Bytes of segments [from, to) that are still the range's. */
struct fm_run fm_advised_part(const struct fm_advised *a, unsigned from,
			      unsigned to);
