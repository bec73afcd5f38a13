/* SPDX-License-Identifier: MIT */
/* Nearly all of what left within a cache's worth of evictions is remembered,
 * in a table of as many slots as the cache has pages. */
#include "unit.h"

#include "cache/fingerprints.h"

#define PAGES 65536u

static struct fm_fingerprints t;

static uint64_t hash_of(uint64_t page)
{
	return (page + 1) * 0x9e3779b97f4a7c15ull ^
	       (page + 7) * (page + 3) * 0xd6e8feb86659fd93ull;
}

static uint32_t time_of(uint64_t page)
{
	return (uint32_t)(page * FM_CACHE_PARTS / PAGES);
}

static unsigned remembered(uint64_t first, uint64_t stop, uint32_t at)
{
	unsigned n = 0;

	for (uint64_t i = first; i < stop; i++)
		n += fm_fingerprints_age(&t, hash_of(i), at) >= 0;
	return n;
}

static void a_cache_of_them(void **state)
{
	(void)state;
	assert_int_equal(fm_fingerprints_start(&t, PAGES), 0);
	for (uint64_t i = 0; i < PAGES; i++)
		fm_fingerprints_add(&t, hash_of(i), time_of(i));
	assert_true(remembered(0, PAGES, time_of(PAGES - 1)) >
		    PAGES / 100 * 80);
	assert_true(remembered(PAGES / 2, PAGES, time_of(PAGES - 1)) >
		    PAGES / 2 / 100 * 95);
	assert_true(remembered(PAGES, 2 * PAGES, time_of(PAGES - 1)) <
		    PAGES / 100);
}

/* What is older goes first, and is too old after one more. */
static void and_one_more(void **state)
{
	(void)state;
	for (uint64_t i = PAGES; i < 2 * PAGES; i++)
		fm_fingerprints_add(&t, hash_of(i), time_of(i));
	assert_true(remembered(PAGES, 2 * PAGES, time_of(2 * PAGES - 1)) >
		    PAGES / 100 * 80);
	assert_true(remembered(0, PAGES / 2, time_of(2 * PAGES - 1)) <
		    PAGES / 1000);
}

static void one_comes_back(void **state)
{
	const uint64_t h = hash_of(2 * PAGES - 1);
	const uint32_t at = time_of(2 * PAGES - 1);

	(void)state;
	assert_int_equal(fm_fingerprints_age(&t, h, at), 0);
	fm_fingerprints_add(&t, h, at + 1);
	fm_fingerprints_forget(&t, h);
	assert_int_equal(fm_fingerprints_age(&t, h, at + 1), -1);
}

FM_UNIT(fingerprints)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cache_of_them),
		cmocka_unit_test(and_one_more),
		cmocka_unit_test(one_comes_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
