/* SPDX-License-Identifier: MIT */
#include "miss.h"

#include "base/sys.h"
#include "base/types.h"
#include "tunables.h"

/* So many misses are assumed beside those that were seen. */
static FM_FAULT uint64_t assumed(const struct fm_miss_counts *c)
{
	return fm_tune.sample_enough -
	       fm_least(c->seen, fm_tune.sample_enough);
}

static FM_FAULT uint32_t miss_part(const struct fm_miss_counts *c, unsigned k)
{
	const uint64_t more = assumed(c);
	const uint64_t saved = more * (k + 1) / FM_MISS_SIZES /
			       fm_tune.miss_assumed;
	const uint64_t seen = c->seen + more;

	return (uint32_t)((seen - saved - fm_least(c->saved[k], c->seen)) *
			  FM_MISS_ALL / seen);
}

FM_FAULT uint32_t fm_miss_left(const struct fm_miss_counts *c, uint64_t n)
{
	unsigned k = 0;

	if (n <= 1)
		return FM_MISS_ALL;
	while (k + 1 < FM_MISS_SIZES && fm_miss_size(k + 1) <= n)
		k++;
	return miss_part(c, k);
}

FM_FAULT uint64_t fm_miss_cost(const struct fm_miss_counts *c, uint64_t n,
			       uint64_t fixed)
{
	const uint64_t left = fm_miss_left(c, n);
	const uint64_t more = left * n - fm_least(left * n, FM_MISS_ALL);

	return left * (fixed + n) + more * c->back / FM_MISS_ALL * (fixed + 1);
}

FM_FAULT uint32_t fm_miss_group(const struct fm_miss_counts *c, uint64_t fixed)
{
	uint64_t least = fm_miss_cost(c, 1, fixed);
	uint32_t n = 1;

	for (unsigned k = 0; k < FM_MISS_SIZES; k++) {
		const uint64_t cost = fm_miss_cost(c, fm_miss_size(k), fixed);

		if (cost < least) {
			least = cost;
			n = fm_miss_size(k);
		}
	}
	return n;
}

static bool miss_is_known(const struct fm_miss *m)
{
	return m->kernel && m->counts.seen >= fm_tune.sample_enough;
}

static bool all_is_known(const struct fm_miss *m)
{
	return m->waits && m->pages && m->all.seen >= fm_tune.sample_enough;
}

static const struct fm_miss_counts *kernels_counts(const struct fm_miss *m)
{
	return all_is_known(m) ? &m->all : &m->counts;
}

static uint32_t engines_pages(const struct fm_miss *m)
{
	return all_is_known(m) ? m->pages :
				 fm_miss_group(&m->counts, m->fixed);
}

static uint32_t kernels_pages(const struct fm_miss *m)
{
	const struct fm_miss_counts *c = kernels_counts(m);

	return fm_miss_cost(c, 1, m->fixed) <
			       fm_miss_cost(c, m->kernel, m->fixed) ?
		       1 : m->kernel;
}

static uint32_t left_engine(const struct fm_miss *m)
{
	return all_is_known(m) ? (uint32_t)fm_least(m->waits, FM_MISS_ALL) :
				 fm_miss_left(&m->counts, engines_pages(m));
}

uint32_t fm_miss_left_engine(const struct fm_miss *m)
{
	return miss_is_known(m) ? left_engine(m) : 0;
}

uint32_t fm_miss_left_kernel(const struct fm_miss *m)
{
	return miss_is_known(m) ? fm_miss_left(kernels_counts(m),
					       kernels_pages(m)) : 0;
}

uint32_t fm_miss_worth_kernel(const struct fm_miss *m)
{
	const uint64_t left = fm_miss_left_kernel(m);

	return left ? (uint32_t)fm_least((uint64_t)FM_MISS_ALL * FM_MISS_ALL /
						 (left * kernels_pages(m)),
					 FM_MISS_ALL) : 0;
}

uint64_t fm_miss_kernel_ns(const struct fm_miss *m, uint64_t ns)
{
	return miss_is_known(m) ? ns * (m->fixed + kernels_pages(m)) /
					  (m->fixed + engines_pages(m)) : ns;
}
