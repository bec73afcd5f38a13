/* SPDX-License-Identifier: MIT */
#include "nearby.h"

#include "base/file_part.h"
#include "cache/cache.h"
#include "io/io.h"
#include "readahead/readahead.h"
#include "tunables.h"

FM_FILE_PART(nearby)

#define REGION 64 /* size: pages */
#define SEEN 1024 /* size: regions, by their hash */
#define PARTS 4096 /* unit: of the cache, in which time is counted here */

/* When each page was missed, 0: it was not; even: it came by a stream. Where
 * threads meet, or two regions, that is wrong: the counts are an estimate. */
static struct {
	_Atomic uint32_t tag; /* which one it is */
	_Atomic uint16_t at[REGION];
} region[SEEN];

/* Pages that demand reads have brought: the time that this goes by. */
static _Atomic uint32_t brought;

/* ---- what is missed again ----------------------------------------------- */

static struct {
	_Atomic uint64_t from; /* pages that had come at the last look */
	_Atomic uint32_t missed; /* again, since then */
	_Atomic uint32_t part; /* of FM_MISS_ALL, of late */
} back;

static FM_FAULT void nearby_look_back(uint64_t came)
{
	const uint64_t all = came + fm_chunk_streamed();
	uint64_t from = atomic_load(&back.from);
	const uint64_t turn = fm_cache_limit() / 16 + fm_tune.sample_enough;
	uint32_t part;

	if (all - from < turn ||
	    !atomic_compare_exchange_strong(&back.from, &from, all))
		return;
	part = (uint32_t)fm_least((uint64_t)atomic_exchange(&back.missed, 0) *
					  FM_MISS_ALL / (all - from),
				  FM_MISS_ALL);
	atomic_store(&back.part, (atomic_load(&back.part) + part) / 2);
}

/* Returns the time. */
static FM_FAULT uint32_t nearby_brings(uint64_t n)
{
	const uint32_t now = atomic_fetch_add_explicit(&brought, (uint32_t)n,
						       memory_order_relaxed);

	nearby_look_back(now);
	return now;
}

/* ---- what is saved ------------------------------------------------------ */

static FM_FAULT void nearby_counts(const struct fm_nearby_set *y,
				   struct fm_miss_counts *ret)
{
	ret->seen = atomic_load_explicit(&y->seen, memory_order_relaxed);
	ret->back = atomic_load_explicit(&back.part, memory_order_relaxed);
	for (unsigned k = 0; k < FM_MISS_SIZES; k++)
		ret->saved[k] = atomic_load_explicit(&y->saved[k],
						     memory_order_relaxed);
}

FM_FAULT void fm_nearby_counts(const struct fm_file *f,
			       struct fm_miss_counts *ret)
{
	nearby_counts(&f->nearby->single, ret);
}

void fm_nearby_all(const struct fm_file *f, struct fm_miss_counts *ret)
{
	nearby_counts(&f->nearby->all, ret);
}

static FM_FAULT uint32_t nearby_group(const struct fm_file *f)
{
	return atomic_load_explicit(&f->nearby->group, memory_order_relaxed);
}

/* What is new counts for as much as all that was before. */
static FM_FAULT void nearby_age(struct fm_nearby_set *y)
{
	atomic_store(&y->seen, atomic_load(&y->seen) / 2);
	for (unsigned k = 0; k < FM_MISS_SIZES; k++)
		atomic_store(&y->saved[k], atomic_load(&y->saved[k]) / 2);
}

/* The groups that come have brought so many pages: would those of n, for the
 * misses that they leave, have brought less than half the cache? */
static FM_FAULT bool nearby_kept(const struct fm_miss_counts *c, uint64_t pages,
				 uint32_t group, uint32_t n)
{
	return pages * fm_miss_left(c, n) * n <
	       fm_cache_limit() / 2 * fm_miss_left(c, group) * group;
}

static FM_FAULT uint32_t nearby_unit(void)
{
	return (uint32_t)(fm_cache_limit() / PARTS) + 1;
}

/* Since another page of each group that page fp is in was missed, or came by a
 * stream. */
static FM_FAULT void nearby_ages(const _Atomic uint16_t *at, uint64_t fp,
				 uint16_t now, bool streams, uint16_t *ret)
{
	const uint32_t own = fp % REGION;
	uint16_t least = UINT16_MAX;

	for (unsigned k = 0; k < FM_MISS_SIZES; k++) {
		const uint32_t n = fm_miss_size(k), first = own & ~(n - 1);

		for (uint32_t i = first; i < first + n; i++) {
			const uint16_t was = i == own ? 0 : atomic_load(&at[i]);

			if (was && (streams || was & 1) &&
			    (uint16_t)(now - was) < least)
				least = (uint16_t)(now - was);
		}
		ret[k] = least;
	}
}

static FM_FAULT void nearby_saves(const struct fm_file *f,
				  struct fm_nearby_set *y, const uint16_t *age)
{
	const uint32_t group = nearby_group(f);
	struct fm_miss_counts c;

	fm_nearby_counts(f, &c);
	for (unsigned k = 0; k < FM_MISS_SIZES; k++)
		if (age[k] < UINT16_MAX &&
		    nearby_kept(&c, (uint64_t)age[k] * nearby_unit(),
				group ? group : 1, fm_miss_size(k)))
			atomic_fetch_add(&y->saved[k], 1);
}

static FM_FAULT void nearby_count(const struct fm_file *f,
				  struct fm_nearby_set *y, uint32_t most,
				  const uint16_t *age)
{
	nearby_saves(f, y, age);
	if (atomic_fetch_add(&y->seen, 1) >= most)
		nearby_age(y);
}

static FM_FAULT _Atomic uint16_t *nearby_region(uint64_t hash)
{
	const uint32_t tag = (uint32_t)(hash >> 32);
	_Atomic uint16_t *at = region[(hash >> 4) % SEEN].at;

	if (atomic_exchange(&region[(hash >> 4) % SEEN].tag, tag) != tag)
		for (unsigned i = 0; i < REGION; i++)
			atomic_store(&at[i], 0);
	return at;
}

static FM_FAULT uint16_t nearby_now(uint32_t pages)
{
	return (uint16_t)(pages / nearby_unit()) | 1;
}

static FM_FAULT void nearby_came(struct fm_file *f, _Atomic uint16_t *at,
				 uint64_t fp, uint16_t now)
{
	uint16_t age[FM_MISS_SIZES];

	nearby_ages(at, fp, now, true, age);
	nearby_count(f, &f->nearby->all, REGION * fm_tune.sample_enough, age);
}

static FM_FAULT void nearby_miss(struct fm_file *f, uint64_t fp, uint64_t hash)
{
	const uint16_t now = nearby_now(nearby_brings(1));
	_Atomic uint16_t *at = nearby_region(hash);
	uint16_t age[FM_MISS_SIZES];

	nearby_ages(at, fp, now, false, age);
	nearby_count(f, &f->nearby->single, 8 * fm_tune.sample_enough, age);
	nearby_came(f, at, fp, now);
	atomic_store(&at[fp % REGION], now);
}

/* Half of all until enough is known. Then so few that what comes alone there
 * costs an eighth of all, at most; others each time that the cache has been
 * brought twice. */
static FM_FAULT bool is_measured(const struct fm_file *f, uint64_t hash)
{
	const uint32_t turn = atomic_load_explicit(&brought,
						   memory_order_relaxed) /
			      (2 * fm_cache_limit() + 1);
	const bool enough = atomic_load_explicit(&f->nearby->single.seen,
						 memory_order_relaxed) >=
			    fm_tune.sample_enough;
	const uint32_t group = nearby_group(f);
	const uint32_t one_in = !enough ? 2 : group > 2 ? 8 * group : 16;

	return (hash >> 32 ^ turn * 0x9e3779b1u) % one_in == 0;
}

static FM_FAULT uint64_t nearby_hash(const struct fm_file *f, uint64_t fp)
{
	return fm_ghost_hash(f, fp / REGION + 1);
}

FM_FAULT uint32_t fm_nearby_pages(struct fm_file *f, uint64_t fp)
{
	const uint64_t hash = nearby_hash(f, fp);
	struct fm_miss_counts c;
	uint32_t n;

	if (fm_ghost_has(f, fp))
		atomic_fetch_add_explicit(&back.missed, 1,
					  memory_order_relaxed);
	if (is_measured(f, hash)) {
		nearby_miss(f, fp, hash);
		return 1;
	}
	fm_nearby_counts(f, &c);
	n = fm_miss_group(&c, fm_device_even_now(f));
	atomic_store_explicit(&f->nearby->group, n, memory_order_relaxed);
	nearby_brings(n);
	return n;
}

static FM_FAULT void nearby_waited(struct fm_file *f, uint64_t used)
{
	atomic_fetch_add_explicit(&f->nearby->waits, 1, memory_order_relaxed);
	atomic_fetch_add_explicit(&f->nearby->used, used, memory_order_relaxed);
}

FM_FAULT void fm_nearby_asked(struct fm_file *f, uint64_t n)
{
	struct fm_miss_counts c;
	uint32_t left;

	fm_nearby_counts(f, &c);
	left = fm_miss_left(&c, n);
	nearby_waited(f, FM_MISS_ALL * FM_MISS_ALL / (left ? left : 1));
}

FM_FAULT void fm_nearby_streamed(struct fm_file *f, uint64_t fp, uint64_t n)
{
	const uint16_t now = nearby_now(atomic_load(&brought));

	nearby_waited(f, n * FM_MISS_ALL);
	for (const uint64_t end = fp + n; fp < end; fp++) {
		const uint64_t hash = nearby_hash(f, fp);
		_Atomic uint16_t *at;

		if (!is_measured(f, hash)) {
			fp |= REGION - 1;
			continue;
		}
		at = nearby_region(hash);
		nearby_came(f, at, fp, now);
		atomic_store(&at[fp % REGION], now - 1);
	}
}
