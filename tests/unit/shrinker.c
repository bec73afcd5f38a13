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

static void idle(void)
{
	asked[2]++;
}

FM_SHRINKER(second, .order = FM_SHRINK_NEXT, .trim = second)
FM_SHRINKER(first, .order = FM_SHRINK_FIRST, .trim = first)
FM_UP(shrink_idle, idle)

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
	assert_int_equal(asked[2], 1);
	assert_int_equal(asked[0] | asked[1], 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order),
		cmocka_unit_test(test_no_more_than_wanted),
		cmocka_unit_test(test_idle),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
