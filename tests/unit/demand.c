/* SPDX-License-Identifier: MIT */
/* Whether reads poll or sleep: windows of time are played. */
#include "unit.h"

#include "../../src/io/demand.c"

static uint64_t now = 1000000000;

/* A window of n reads that took so long each, `threads` at a time. Returns how
 * the next one waits. */
static uint32_t after(uint64_t n, uint64_t took, uint64_t threads)
{
	fm_count(&window_n, n);
	fm_count(&window_took, n * took);
	fm_count(&window_busy, n * took / threads);
	now += n * took / threads;
	turn_over(now);
	return atomic_load(&way);
}

/* Milliseconds: no window polls any more, not even to see. */
static void slow(void **state)
{
	for (int k = 0; k < 100; k++)
		assert_int_equal(after(200, 5000000, 8), SLEEP);
}

/* And it is seen again which is better, once they are short. */
static void short_again(void **state)
{
	unsigned n[2] = { 0, 0 };

	for (int k = 0; k < 200; k++)
		n[after(2000, way == SLEEP ? 100000 : 50000, 1)]++;
	assert_true(n[POLL] > 150);
	assert_true(n[SLEEP] > 5);
}

int main(void)
{
	const struct CMUnitTest t[] = {
		cmocka_unit_test(slow),
		cmocka_unit_test(short_again),
	};

	return cmocka_run_group_tests(t, NULL, NULL);
}
