/* SPDX-License-Identifier: MIT */
/*
 * hist.h - histogram of times in nanoseconds, log-linear: 32 buckets for each
 * power of two, so that a percentile is at most 3.2 % off over the whole range
 * (the idea of Tene's HdrHistogram). Atomic counters, no lock. [plain], unless
 * it says more.
 */
#pragma once

#include <stdatomic.h>
#include <stdint.h>

#define FM_HIST_SUB_BITS 5 /* bits: of a number, exact */
#define FM_HIST_SUB (1u << FM_HIST_SUB_BITS) /* bits: as a number */
/* 2^40 ns is 18 minutes; longer counts as that. */
#define FM_HIST_MAX_NS (((uint64_t)1 << 40) - 1) /* size: of the table */
#define FM_HIST_BUCKETS ((40 - FM_HIST_SUB_BITS + 1) * FM_HIST_SUB)

struct fm_hist {
	_Atomic uint64_t bucket[FM_HIST_BUCKETS];
	_Atomic uint64_t max;
};

/* [fault] */
void fm_hist_record(struct fm_hist *h, uint64_t ns);

void fm_hist_add(struct fm_hist *to, const struct fm_hist *from);
void fm_hist_reset(struct fm_hist *h);

uint64_t fm_hist_count(const struct fm_hist *h);
/* Of all values, each taken as the upper end of its bucket. */
uint64_t fm_hist_sum(const struct fm_hist *h);
uint64_t fm_hist_max(const struct fm_hist *h);
/* Largest value that the fastest `per_100k` of 100,000 stay at or below: 50000
 * is the median. Never flattering: the upper end of its bucket, but not above
 * the maximum. 0 when empty. */
uint64_t fm_hist_percentile(const struct fm_hist *h, uint32_t per_100k);
