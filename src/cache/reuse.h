/* SPDX-License-Identifier: MIT */
/*
 * reuse.h - a sample of pages: how long each stays in the cache, and how long
 * it is away before it is loaded again. reuse_curve.c makes of it how many
 * loads a smaller or a larger cache would have.
 *
 * Pages are chosen by a hash of file and page (Waldspurger et al., FAST'15), so
 * that of a chosen page every load is seen. Time is counted in evictions of
 * chosen pages. A guess: an event that finds the table in use is not noted.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum fm_sample_state {
	FM_SAMPLE_FREE,
	FM_SAMPLE_DEAD,     /* its file was closed; the sums count */
	FM_SAMPLE_AWAY,     /* evicted, not loaded again */
	FM_SAMPLE_RESIDENT,
};

/* Sums are halved when a window has passed. */
struct fm_sample {
	uint64_t key;       /* hash of file and page */
	uint64_t away2;     /* sum of squares */
	uint32_t stay, away; /* sums of times, ended ones */
	uint32_t since;     /* the present state; time */
	uint32_t file;      /* its number */
	uint32_t left, back; /* evictions and loads after one, in sixteenths */
	uint16_t window;
	uint8_t state;
};

/* [plain] For a cache of so many pages. Without memory nothing is sampled. */
void fm_reuse_start(uint64_t pages);
void fm_reuse_reset(void);
/* [plain] The cache has so many pages from now on: what was seen so far says
 * nothing of that. Signals are blocked. */
void fm_reuse_restart(uint64_t pages);

/* [fault] The page with this hash has been evicted; that of file number `file`
 * has been loaded. */
void fm_reuse_left(uint64_t hash);
void fm_reuse_came(uint32_t file, uint64_t hash);

/* [plain] What is known now, for reuse_curve.c; also after a death. */
struct fm_reuse {
	const struct fm_sample *sample;
	size_t n;       /* of the table */
	uint32_t now;
	uint64_t cold;  /* loads of pages that were not known, in sixteenths */
	uint64_t one_in; /* pages */
};
void fm_reuse_get(struct fm_reuse *ret);

/* What a cache of another size would have loaded, of what this one has. */
enum { FM_CURVE_QUARTER, FM_CURVE_HALF, FM_CURVE_DOUBLE, FM_CURVE_FOUR,
       FM_CURVE_SIZES };
#define FM_CURVE_UNKNOWN UINT64_MAX
struct fm_curve {
	uint64_t samples; /* chosen pages that are known */
	uint64_t loads;   /* of these, in the window */
	uint64_t cold;    /* of these loads, a page's first */
	/* thousandths of `loads`, or FM_CURVE_UNKNOWN */
	uint64_t part[FM_CURVE_SIZES];
};

/* [plain] One at a time: the caller has the lock of the report. */
void fm_reuse_curve(const struct fm_reuse *r, struct fm_curve *ret);
