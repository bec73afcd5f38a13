/* SPDX-License-Identifier: MIT */
/* Histogram against sorted values. */
#include "unit.h"

#include <pthread.h>
#include <stdlib.h>

#include "base/hist.h"

static struct fm_hist h;

static int empty(void **state)
{
	fm_hist_reset(&h);
	return 0;
}

static void nothing_recorded(void **state)
{
	assert_true(fm_hist_count(&h) == 0);
	assert_true(fm_hist_percentile(&h, 50000) == 0);
	assert_true(fm_hist_max(&h) == 0);
}

static void small_values_are_exact(void **state)
{
	for (uint64_t v = 0; v < 64; v++)
		fm_hist_record(&h, v);
	assert_true(fm_hist_count(&h) == 64);
	assert_true(fm_hist_sum(&h) == 63 * 64 / 2);
	assert_true(fm_hist_percentile(&h, 50000) == 31);
	assert_true(fm_hist_percentile(&h, 100000) == 63);
	assert_true(fm_hist_percentile(&h, 1) == 0);
}

static void median_of_two_is_the_first(void **state)
{
	fm_hist_record(&h, 10);
	fm_hist_record(&h, 20);
	assert_true(fm_hist_percentile(&h, 50000) == 10);
	assert_true(fm_hist_percentile(&h, 50001) == 20);
}

static void beyond_the_range(void **state)
{
	fm_hist_record(&h, UINT64_MAX);
	assert_true(fm_hist_max(&h) == UINT64_MAX);
	assert_true(fm_hist_percentile(&h, 99000) == UINT64_MAX);
}

/* A percentile must lie at or above the true one, and within a bucket. */
static void check(uint64_t truth, uint64_t got)
{
	assert_true(got >= truth);
	assert_true(got <= truth + truth / FM_HIST_SUB + 1);
}

static int by_value(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return (x > y) - (x < y);
}

#define N 20000
static void against_sorted_values(void **state)
{
	static const uint32_t q[] = { 1000, 25000, 50000, 90000, 99000, 99900 };
	static uint64_t v[N];
	uint64_t x = 88172645463325252ull;

	for (int i = 0; i < N; i++) {
		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		v[i] = x >> (25 + x % 38);
		fm_hist_record(&h, v[i]);
	}
	qsort(v, N, sizeof(v[0]), by_value);
	for (int i = 0; i < 6; i++)
		check(v[(uint64_t)N * q[i] / 100000 - 1],
		      fm_hist_percentile(&h, q[i]));
	assert_true(fm_hist_max(&h) == v[N - 1]);
}

static void *record_many(void *arg)
{
	for (uint64_t i = 0; i < 100000; i++)
		fm_hist_record(&h, i);
	return NULL;
}

static void threads_lose_nothing(void **state)
{
	static struct fm_hist sum;
	pthread_t t[4];

	for (int i = 0; i < 4; i++)
		assert_int_equal(pthread_create(&t[i], NULL, record_many, NULL),
				 0);
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	assert_true(fm_hist_count(&h) == 400000);
	fm_hist_add(&sum, &h);
	fm_hist_add(&sum, &h);
	assert_true(fm_hist_count(&sum) == 800000);
	assert_true(fm_hist_max(&sum) == 99999);
}

#define T(f) cmocka_unit_test_setup(f, empty)
FM_UNIT(hist)
{
	const struct CMUnitTest tests[] = {
		T(nothing_recorded),	  T(small_values_are_exact),
		T(median_of_two_is_the_first), T(beyond_the_range),
		T(against_sorted_values), T(threads_lose_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
