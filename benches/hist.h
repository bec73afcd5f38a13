/* SPDX-License-Identifier: MIT */
/*
 * hist.h - log-linear histogram of nanoseconds: 64 buckets per power of two,
 * so a quantile is at most 1.6 % off. One per thread, merged at the end.
 */
#ifndef BENCH_HIST_H
#define BENCH_HIST_H

#include <stdint.h>

#define HIST_SUB 64
#define HIST_BUCKETS (59 * HIST_SUB)

struct hist {
	uint64_t count, max;
	uint64_t bucket[HIST_BUCKETS];
};

static inline unsigned hist_index(uint64_t v)
{
	unsigned e;

	if (v < HIST_SUB)
		return (unsigned)v;
	e = 63 - (unsigned)__builtin_clzll(v);
	return (e - 5) * HIST_SUB + (unsigned)((v >> (e - 6)) & (HIST_SUB - 1));
}

/* Upper end of a bucket: quantiles are never flattered. */
static inline uint64_t hist_value(unsigned i)
{
	unsigned e = i / HIST_SUB;

	if (!e)
		return i;
	return ((uint64_t)(HIST_SUB + i % HIST_SUB + 1) << (e - 1)) - 1;
}

static inline void hist_add(struct hist *h, uint64_t v)
{
	h->count++;
	h->bucket[hist_index(v)]++;
	if (v > h->max)
		h->max = v;
}

static inline void hist_merge(struct hist *to, const struct hist *from)
{
	to->count += from->count;
	if (from->max > to->max)
		to->max = from->max;
	for (unsigned i = 0; i < HIST_BUCKETS; i++)
		to->bucket[i] += from->bucket[i];
}

/* q in per mille; 0 when nothing was recorded. */
static inline uint64_t hist_quantile(const struct hist *h, unsigned q)
{
	uint64_t want = (h->count * q + 999) / 1000, seen = 0;

	for (unsigned i = 0; i < HIST_BUCKETS && h->count; i++) {
		seen += h->bucket[i];
		if (seen >= want)
			return hist_value(i) < h->max ? hist_value(i) : h->max;
	}
	return h->max;
}

#endif
