/* SPDX-License-Identifier: MIT */
/* The cache's size under changing limits and memory pressure. */
#include "unit.h"

#include "budget.h"

#define GIB (1ull << 30)

static void percent_follows_the_limit(void **state)
{
	struct fm_budget b;

	fm_budget_init(&b, 4 * GIB, 50, 8 * GIB);
	assert_true(b.now == 8 * GIB / 100 * 50);
	assert_true(fm_budget_step(&b, 2 * GIB, 1) <= GIB);
	assert_true(fm_budget_step(&b, 8 * GIB, 1) > 4 * GIB - (1 << 20));
}

static void fixed_stays_below_the_limit(void **state)
{
	struct fm_budget b;

	fm_budget_init(&b, 4 * GIB, 0, 16 * GIB);
	assert_true(b.now == 4 * GIB);
	assert_true(fm_budget_step(&b, 2 * GIB, 1) == 2 * GIB / 8 * 7);
	assert_true(fm_budget_step(&b, 16 * GIB, 1) == 4 * GIB);
}

static void pressure_takes_at_most_half(void **state)
{
	struct fm_budget b;
	uint64_t t = 1000000;

	fm_budget_init(&b, 4 * GIB, 0, 16 * GIB);
	assert_true(fm_budget_step(&b, 16 * GIB, t) == 4 * GIB);
	assert_true(fm_budget_step(&b, 16 * GIB, t += 200000) == GIB / 2 * 7);
	for (int i = 0; i < 20; i++)
		fm_budget_step(&b, 16 * GIB, t += 200000);
	assert_true(b.now == 2 * GIB);
}

static void quiet_gives_it_back(void **state)
{
	struct fm_budget b;
	uint64_t t = 1000000;

	fm_budget_init(&b, 4 * GIB, 0, 16 * GIB);
	fm_budget_step(&b, 16 * GIB, t);
	fm_budget_step(&b, 16 * GIB, t += 200000);
	for (int i = 0; i < 9; i++)
		fm_budget_step(&b, 16 * GIB, t);
	assert_true(b.now == GIB / 2 * 7);
	fm_budget_step(&b, 16 * GIB, t += 5000); /* a little: start over */
	for (int i = 0; i < 10; i++)
		fm_budget_step(&b, 16 * GIB, t);
	assert_true(b.now == 4 * GIB);
	fm_budget_step(&b, 16 * GIB, t);
	assert_true(b.now == 4 * GIB);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percent_follows_the_limit),
		cmocka_unit_test(fixed_stays_below_the_limit),
		cmocka_unit_test(pressure_takes_at_most_half),
		cmocka_unit_test(quiet_gives_it_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
