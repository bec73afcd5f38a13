/* SPDX-License-Identifier: MIT */
#include "hist.h"

#include "sys.h"

/* Below 2 * SUB every value has its own bucket; above, the leading SUB_BITS + 1
 * bits of the value name it. */
FM_FAULT static unsigned index_of(uint64_t ns)
{
	unsigned shift;

	if (ns > FM_HIST_MAX_NS)
		ns = FM_HIST_MAX_NS;
	if (ns < 2 * FM_HIST_SUB)
		return (unsigned)ns;
	shift = 63 - FM_HIST_SUB_BITS - (unsigned)__builtin_clzll(ns);
	return shift * FM_HIST_SUB + (unsigned)(ns >> shift);
}

static uint64_t upper_end(unsigned i)
{
	unsigned shift;

	if (i < 2 * FM_HIST_SUB)
		return i;
	shift = i / FM_HIST_SUB - 1;
	return (((uint64_t)(i % FM_HIST_SUB + FM_HIST_SUB) + 1) << shift) - 1;
}

FM_FAULT void fm_hist_record(struct fm_hist *h, uint64_t ns)
{
	uint64_t max = atomic_load_explicit(&h->max, memory_order_relaxed);

	fm_count(&h->bucket[index_of(ns)], 1);
	while (ns > max && !atomic_compare_exchange_weak_explicit(
				   &h->max, &max, ns, memory_order_relaxed,
				   memory_order_relaxed))
		;
}

void fm_hist_add(struct fm_hist *to, const struct fm_hist *from)
{
	uint64_t max = fm_hist_max(from);

	for (unsigned i = 0; i < FM_HIST_BUCKETS; i++)
		atomic_fetch_add(&to->bucket[i], atomic_load(&from->bucket[i]));
	if (max > fm_hist_max(to))
		atomic_store(&to->max, max);
}

void fm_hist_reset(struct fm_hist *h)
{
	for (unsigned i = 0; i < FM_HIST_BUCKETS; i++)
		atomic_store(&h->bucket[i], 0);
	atomic_store(&h->max, 0);
}

uint64_t fm_hist_count(const struct fm_hist *h)
{
	uint64_t n = 0;

	for (unsigned i = 0; i < FM_HIST_BUCKETS; i++)
		n += atomic_load(&h->bucket[i]);
	return n;
}

uint64_t fm_hist_sum(const struct fm_hist *h)
{
	uint64_t sum = 0;

	for (unsigned i = 0; i < FM_HIST_BUCKETS; i++)
		sum += atomic_load_explicit(&h->bucket[i],
					    memory_order_relaxed) *
		       upper_end(i);
	return sum;
}

uint64_t fm_hist_max(const struct fm_hist *h)
{
	return atomic_load(&h->max);
}

uint64_t fm_hist_percentile(const struct fm_hist *h, uint32_t per_100k)
{
	uint64_t n = fm_hist_count(h), seen = 0;
	/* The rank, rounded up: of 2 values, the median is the first. */
	uint64_t rank = n / 100000 * per_100k +
			(n % 100000 * per_100k + 99999) / 100000;

	if (!n)
		return 0;
	for (unsigned i = 0; i < FM_HIST_BUCKETS; i++) {
		seen += atomic_load(&h->bucket[i]);
		if (seen >= rank && seen) {
			uint64_t v = upper_end(i), max = fm_hist_max(h);

			return v < max && i < FM_HIST_BUCKETS - 1 ? v : max;
		}
	}
	return fm_hist_max(h);
}
