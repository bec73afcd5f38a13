/* SPDX-License-Identifier: MIT */
#include "nearby.h"

#include "base/file_part.h"
#include "cache/cache.h"
#include "io/io.h"
#include "tunables.h"

FM_FILE_PART(nearby)

#define REGION 64 /* size: pages, a bit each */
#define SEEN 1024 /* size: regions, by their hash */

/* Words of two fields that may be of two regions, where threads meet: the
 * counts are an estimate. */
static struct {
	_Atomic uint64_t tag; /* of the region, and when the last one came */
	_Atomic uint64_t missed;
} region[SEEN];

static _Atomic uint32_t nearby_reads; /* the time that this goes by */

static FM_FAULT uint32_t nearby_size(unsigned k)
{
	return 4u << (2 * k);
}

static FM_FAULT uint64_t group_bits(uint64_t fp, unsigned k)
{
	const unsigned n = nearby_size(k);
	const uint64_t bits = n < 64 ? (1ull << n) - 1 : ~0ull;

	return bits << (fp % REGION & ~(uint64_t)(n - 1));
}

/* What is new counts for as much as all that was before. */
static FM_FAULT void nearby_age(struct fm_file_nearby *y)
{
	atomic_store(&y->seen, atomic_load(&y->seen) / 2);
	atomic_store(&y->back, atomic_load(&y->back) / 2);
	for (unsigned k = 0; k < FM_NEARBY_SIZES; k++)
		atomic_store(&y->saved[k], atomic_load(&y->saved[k]) / 2);
}

/* Had groups of n come, half the cache would have been brought since? */
static FM_FAULT bool nearby_kept(uint32_t reads, unsigned k)
{
	return (uint64_t)reads * nearby_size(k) < fm_cache_limit() / 2;
}

static FM_FAULT void nearby_miss(struct fm_file *f, uint64_t fp, uint64_t hash,
				 uint32_t now)
{
	const uint64_t tag = hash >> 32 << 32;
	const unsigned at = (hash >> 4) % SEEN;
	const uint64_t was = atomic_exchange(&region[at].tag, tag | now);
	const uint32_t since = now - (uint32_t)was;
	uint64_t missed = 0;

	if (was >> 32 == tag >> 32 && nearby_kept(since, 0))
		missed = atomic_load(&region[at].missed);
	for (unsigned k = 0; k < FM_NEARBY_SIZES; k++)
		if ((missed & group_bits(fp, k)) && nearby_kept(since, k))
			atomic_fetch_add(&f->nearby->saved[k], 1);
	atomic_store(&region[at].missed, missed | 1ull << fp % REGION);
	if (fm_ghost_has(f, fp))
		atomic_fetch_add(&f->nearby->back, 1);
	if (atomic_fetch_add(&f->nearby->seen, 1) >= 8 * fm_tune.sample_enough)
		nearby_age(f->nearby);
}

/* Of all that was missed in the regions, in pages. */
static FM_FAULT uint64_t nearby_cost(const struct fm_file_nearby *y,
				     uint64_t seen, uint64_t fixed, unsigned k,
				     bool full)
{
	const uint64_t saved = fm_least(atomic_load(&y->saved[k]), seen);
	const uint64_t leaves = full ? atomic_load(&y->back) : 0;

	return (seen - saved) * (fixed + nearby_size(k)) +
	       leaves * (fixed + 1);
}

FM_FAULT uint32_t fm_nearby_pages(const struct fm_file *f, bool full)
{
	const struct fm_file_nearby *y = f->nearby;
	const uint64_t seen = atomic_load(&y->seen);
	const uint64_t fixed = fm_device_even_now(f);
	uint64_t least = seen * (fixed + 1) / 4 * 3;
	uint32_t n = 1;

	if (seen < fm_tune.sample_enough || !fixed)
		return 1;
	for (unsigned k = 0; k < FM_NEARBY_SIZES; k++) {
		const uint64_t cost = nearby_cost(y, seen, fixed, k, full);

		if (cost < least) {
			least = cost;
			n = nearby_size(k);
		}
	}
	return n;
}

FM_FAULT bool fm_nearby_measured(struct fm_file *f, uint64_t fp)
{
	const uint64_t hash = fm_ghost_hash(f, fp / REGION + 1);
	const uint32_t now = atomic_fetch_add_explicit(&nearby_reads, 1,
						       memory_order_relaxed);

	if (hash >> 60) /* but for one of 16 */
		return false;
	nearby_miss(f, fp, hash, now);
	return true;
}
