/* SPDX-License-Identifier: MIT */
/* Who can give memory back is asked in order, for what is still wanted, and by
 * the kind that is asked for. */
#include "unit.h"

#include "base/shrinker.h"

static uint64_t asked[3];

static uint64_t first(uint64_t want)
{
	asked[0] = want;
	return 3;
}

static uint64_t second(uint64_t want)
{
	asked[1] = want;
	return want;
}

static uint64_t idle(uint64_t want)
{
	asked[2] = want;
	return 1;
}

static struct fm_shrinker of_second = {
	.name = "second", .order = 2, .fault_safe = true, .trim = second
};
static struct fm_shrinker of_first = {
	.name = "first", .order = 1, .fault_safe = true, .trim = first
};
static struct fm_shrinker of_idle = { .name = "idle", .trim = idle };

static int start(void **state)
{
	fm_shrinker_add(&of_second);
	fm_shrinker_add(&of_idle);
	fm_shrinker_add(&of_first);
	fm_shrinker_add(&of_second); /* again, as in a child of fork */
	return 0;
}

static void forget(void)
{
	for (int i = 0; i < 3; i++)
		asked[i] = 0;
}

static void test_in_order(void **state)
{
	forget();
	assert_int_equal(fm_shrink_cached(10), 10);
	assert_int_equal(asked[0], 10);
	assert_int_equal(asked[1], 7);
	assert_int_equal(asked[2], 0);
}

static void test_no_more_than_wanted(void **state)
{
	forget();
	assert_int_equal(fm_shrink_cached(3), 3);
	assert_int_equal(asked[1], 0);
}

static void test_idle(void **state)
{
	forget();
	fm_shrink_idle();
	assert_true(asked[2] == UINT64_MAX);
	assert_int_equal(asked[0] | asked[1], 0);
}

FM_UNIT(shrinker)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_no_more_than_wanted),
		cmocka_unit_test(test_idle),
	};

	return cmocka_run_group_tests(tests, start, NULL);
}
