/* SPDX-License-Identifier: MIT */
/* What pages around a miss are worth, against misses whose place is known. */
#include "unit.h"

#include <string.h>

#define fm_cache_limit played_limit
#define fm_ghost_has played_ghost
#define fm_ghost_hash played_hash
#define fm_device_even_now played_even
#include "../../src/fault/nearby.c"

#define LIMIT ((uint64_t)1 << 16) /* pages of the cache */
#define PAGES (8 * LIMIT)
#define MISSES 60000

static struct fm_file_nearby own;
static struct fm_file file = { .nearby = &own };
static uint32_t even;
static bool all_back;
static uint64_t seed, brought, measured;

uint64_t played_limit(void)
{
	return LIMIT;
}

bool played_ghost(const struct fm_file *f, uint64_t fp)
{
	return all_back;
}

uint64_t played_hash(const struct fm_file *f, uint64_t n)
{
	return n * 0x9e3779b97f4a7c15ull;
}

uint32_t played_even(const struct fm_file *f)
{
	return even;
}

static uint64_t some(uint64_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (seed >> 33) % n;
}

static void miss(uint64_t fp)
{
	if (fm_nearby_measured(&file, fp))
		measured++;
	brought++;
}

/* Visits to groups of `group` pages, `n` pages of each, a few at a time. */
static void visit(uint64_t group, uint64_t n)
{
	while (brought < MISSES) {
		uint64_t at[8];

		for (unsigned v = 0; v < 8; v++)
			at[v] = some(PAGES / group) * group;
		for (uint64_t k = 0; k < n; k++)
			for (unsigned v = 0; v < 8; v++)
				miss(at[v] + k * group / n);
	}
}

static int begin(void **state)
{
	memset(&own, 0, sizeof(own));
	memset(region, 0, sizeof(region));
	even = 24;
	all_back = false;
	seed = 1;
	brought = measured = 0;
	return 0;
}

static void what_is_not_known_comes_alone(void **state)
{
	assert_int_equal(fm_nearby_pages(&file, true), 1);
	assert_int_equal(fm_nearby_pages(&file, false), 1);
}

static void a_sixteenth_is_measured(void **state)
{
	visit(1, 1);
	assert_in_range(measured, MISSES / 20, MISSES / 13);
}

static void pages_anywhere_come_alone(void **state)
{
	visit(1, 1);
	assert_int_equal(fm_nearby_pages(&file, true), 1);
	assert_int_equal(fm_nearby_pages(&file, false), 1);
	even = 5000; /* a device that takes long for each read */
	assert_int_equal(fm_nearby_pages(&file, true), 1);
}

static void a_group_that_is_wanted_comes(void **state)
{
	visit(16, 4);
	assert_int_equal(fm_nearby_pages(&file, true), 16);
	even = 1; /* a device as fast as memory */
	assert_int_equal(fm_nearby_pages(&file, true), 1);
}

static void a_large_one_comes_as_a_whole(void **state)
{
	visit(64, 16);
	assert_int_equal(fm_nearby_pages(&file, true), 64);
}

static void two_of_a_group_pay_where_reads_take_long(void **state)
{
	visit(16, 2);
	even = 12;
	assert_int_equal(fm_nearby_pages(&file, true), 1);
	even = 300; /* a disk */
	assert_int_equal(fm_nearby_pages(&file, true), 16);
}

/* Where all that is missed had been there, what leaves is worth as much. */
static void what_comes_back_is_not_driven_out(void **state)
{
	all_back = true;
	visit(16, 4);
	assert_int_equal(fm_nearby_pages(&file, true), 1);
	assert_int_equal(fm_nearby_pages(&file, false), 16); /* nothing does */
}

/* What has changed is seen. */
static void what_was_is_forgotten(void **state)
{
	visit(16, 4);
	brought = 0;
	visit(1, 1);
	assert_int_equal(fm_nearby_pages(&file, true), 1);
	brought = 0;
	visit(16, 4);
	assert_int_equal(fm_nearby_pages(&file, true), 16);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(what_is_not_known_comes_alone, begin),
		cmocka_unit_test_setup(a_sixteenth_is_measured, begin),
		cmocka_unit_test_setup(pages_anywhere_come_alone, begin),
		cmocka_unit_test_setup(a_group_that_is_wanted_comes, begin),
		cmocka_unit_test_setup(a_large_one_comes_as_a_whole, begin),
		cmocka_unit_test_setup(two_of_a_group_pay_where_reads_take_long,
				       begin),
		cmocka_unit_test_setup(what_comes_back_is_not_driven_out,
				       begin),
		cmocka_unit_test_setup(what_was_is_forgotten, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
