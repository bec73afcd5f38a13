/* SPDX-License-Identifier: MIT */
/* What pages around a miss are worth: over a cache that is played, against
 * groups of each size that come always. */
#include "unit.h"

#include <string.h>

#define fm_cache_limit played_limit
#define fm_ghost_has played_ghost
#define fm_ghost_hash played_hash
#define fm_device_even_now played_even
#define fm_chunk_streamed played_streamed
#include "../../src/fault/nearby.c"

#define LIMIT 16384 /* pages of the cache */
#define PAGES (8 * LIMIT)
#define TOUCHES 400000
#define NEVER 0

static struct fm_file_nearby own;
static struct fm_file file = { .nearby = &own };
static uint32_t even, always;
static uint64_t seed, cost, streamed;

/* A clock: slot of each page, plus one; which page is where; when it left. */
static struct {
	uint32_t at[PAGES], page[LIMIT];
	uint64_t left_at[PAGES], gone;
	bool used[LIMIT];
	uint32_t hand, n;
} cache;

uint64_t played_limit(void)
{
	return LIMIT;
}

bool played_ghost(const struct fm_file *f, uint64_t fp)
{
	return cache.left_at[fp] != NEVER &&
	       cache.gone - cache.left_at[fp] < LIMIT;
}

uint64_t played_hash(const struct fm_file *f, uint64_t n)
{
	return n * 0x9e3779b97f4a7c15ull;
}

uint32_t played_even(const struct fm_file *f)
{
	return even;
}

uint64_t played_streamed(void)
{
	return streamed;
}

static uint64_t some(uint64_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % n;
}

/* Returns the slot that is free by then. */
static uint32_t make_room(void)
{
	uint32_t at;

	if (cache.n < LIMIT)
		return cache.n++;
	while (cache.used[cache.hand]) {
		cache.used[cache.hand] = false;
		cache.hand = (cache.hand + 1) % LIMIT;
	}
	at = cache.hand;
	cache.hand = (at + 1) % LIMIT;
	cache.at[cache.page[at]] = 0;
	cache.left_at[cache.page[at]] = ++cache.gone;
	return at;
}

static void bring(uint64_t fp)
{
	uint32_t at;

	if (cache.at[fp])
		return;
	at = make_room();
	cache.page[at] = (uint32_t)fp;
	cache.used[at] = false;
	cache.at[fp] = at + 1;
}

static void touch(uint64_t fp)
{
	uint64_t n, first;

	if (cache.at[fp]) {
		cache.used[cache.at[fp] - 1] = true;
		return;
	}
	n = always ? always : fm_nearby_pages(&file, fp);
	first = fp - fp % n;
	cost += even + n;
	for (uint64_t k = first; k < first + n; k++)
		bring(k);
}

/* Visits to groups of `group` pages among the first `of`, `n` pages of each,
 * eight at a time. */
static void visit(uint64_t of, uint64_t group, uint64_t n, unsigned touches)
{
	for (unsigned t = 0; t < touches; t += 8 * (unsigned)n) {
		uint64_t at[8];

		for (unsigned v = 0; v < 8; v++)
			at[v] = some(of / group) * group;
		for (uint64_t k = 0; k < n; k++)
			for (unsigned v = 0; v < 8; v++)
				touch(at[v] + some(group));
	}
}

static void anywhere(void)
{
	visit(PAGES, 1, 1, TOUCHES);
}

static void twice_the_cache(void)
{
	visit(2 * LIMIT, 1, 1, TOUCHES);
}

static void most_in_a_part(void)
{
	for (unsigned k = 0; k < TOUCHES; k++)
		touch(some(some(4) ? LIMIT / 2 : PAGES));
}

static void quarters_of_groups(void)
{
	visit(PAGES, 16, 6, TOUCHES);
}

static void large_groups(void)
{
	visit(PAGES, 64, 40, TOUCHES);
}

static void pairs(void)
{
	visit(PAGES, 16, 2, TOUCHES);
}

/* A cache that single pages would not fill. */
static void few_and_cold(void)
{
	visit(PAGES / 2, 1, 1, LIMIT / 2);
}

/* What is in use is driven out by a scan, and comes back. */
static void after_scans(void)
{
	for (unsigned turn = 0; turn < 10; turn++) {
		visit(LIMIT / 2, 1, 1, TOUCHES / 10);
		for (uint64_t fp = LIMIT; fp < PAGES / 2; fp++, streamed++)
			bring(fp);
	}
}

static void play(void (*work)(void), uint32_t group)
{
	memset(&own, 0, sizeof(own));
	memset(region, 0, sizeof(region));
	memset(&back, 0, sizeof(back));
	memset(&cache, 0, sizeof(cache));
	atomic_store(&brought, 0);
	always = group;
	seed = 1;
	cost = streamed = 0;
	work();
}

static uint64_t least_of(void (*work)(void), uint32_t *ret)
{
	uint64_t least = UINT64_MAX;

	for (uint32_t n = 1; n <= REGION; n *= 2) {
		play(work, n);
		if (cost < least) {
			least = cost;
			*ret = n;
		}
	}
	return least;
}

static void costs_hardly_more(void (*work)(void), uint32_t device,
			      unsigned percent)
{
	uint32_t n = 0;
	uint64_t least;

	even = device;
	least = least_of(work, &n);
	play(work, 0);
	print_message("# %u pages a read: always %u is best, %lu %% of it\n",
		      even, n, (unsigned long)(cost * 100 / least));
	assert_in_range(cost, 0, least * percent / 100);
}

/* No more than so much of the least that groups of one size cost. A sanitizer
 * sees the same on each, and takes long. */
static void on_each_device(void (*work)(void), unsigned percent)
{
	costs_hardly_more(work, 24, percent);
#ifndef __SANITIZE_ADDRESS__
	costs_hardly_more(work, 1, percent);   /* as fast as memory */
	costs_hardly_more(work, 300, percent); /* a disk */
	costs_hardly_more(work, 4096, percent);
#endif
}

#define ROW(name, percent)                       \
	static void row_##name(void **state)     \
	{                                        \
		on_each_device(name, percent);   \
	}
ROW(anywhere, 112)
ROW(twice_the_cache, 112)
ROW(most_in_a_part, 112)
ROW(quarters_of_groups, 112)
ROW(large_groups, 112)
ROW(pairs, 112)
ROW(few_and_cold, 125)
ROW(after_scans, 250) /* it takes a while to see */

/* What has changed is seen. */
static void what_was_is_forgotten(void **state)
{
	even = 24;
	play(large_groups, 0);
	assert_int_equal(atomic_load(&own.group), REGION);
	anywhere();
	assert_int_equal(atomic_load(&own.group), 1);
	large_groups();
	assert_int_equal(atomic_load(&own.group), REGION);
}

/* Of lists of 96 pages: two misses, and the rest comes by a stream. */
static void streams(void)
{
	for (uint64_t fp = 0; fp + 96 <= PAGES; fp += 96) {
		touch(fp);
		touch(fp + 1);
		fm_nearby_streamed(&file, fp + 2, 94);
	}
}

/* Of the misses groups of 32 pages save half, of all pages 31 of 32. */
static void what_streams_bring_counts_for_all(void **state)
{
	struct fm_miss_counts c;

	even = 24;
	play(streams, 0);
	fm_nearby_counts(&file, &c);
	assert_in_range(fm_miss_left(&c, 32), 400, 700);
	fm_nearby_all(&file, &c);
	assert_in_range(fm_miss_left(&c, 32), 1024 / 40, 1024 / 24);
	assert_int_equal(atomic_load(&own.waits), PAGES / 96);
	assert_int_equal(atomic_load(&own.used),
			 PAGES / 96 * 94 * FM_MISS_ALL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(row_anywhere),
		cmocka_unit_test(row_twice_the_cache),
		cmocka_unit_test(row_most_in_a_part),
		cmocka_unit_test(row_quarters_of_groups),
		cmocka_unit_test(row_large_groups),
		cmocka_unit_test(row_pairs),
		cmocka_unit_test(row_few_and_cold),
		cmocka_unit_test(row_after_scans),
		cmocka_unit_test(what_was_is_forgotten),
		cmocka_unit_test(what_streams_bring_counts_for_all),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
