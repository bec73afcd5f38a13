/* SPDX-License-Identifier: MIT */
/* serve/maps.h, lately.h, table.h: what it costs to map a file anew, what took
 * time of late, and where that is kept. */
#include "unit.h"

#include "serve/serve.h"
#include "tunables.h"

#define MS 1000000ull
#define MIB ((size_t)1 << 20)
#define MINUTE 60000ull

static uint64_t now = 1000 * MS;

/* So many mappings of 1 MiB, each took `took` and stays for `stays` ms. */
static void map(struct fm_maps *m, unsigned n, unsigned took, unsigned stays)
{
	while (n--) {
		now += took * MS;
		fm_maps_begin(m, MIB, took * MS, now);
		now += stays * MS;
		fm_maps_end(m, now);
	}
}

static void short_ones_are_the_kernels(void **state)
{
	struct fm_maps m = { 0 };

	map(&m, 3, 1, 10);
	assert_int_equal(fm_maps_cost(&m, MIB, now), 0);
	map(&m, 1, 1, 10);
	assert_true(fm_maps_cost(&m, MIB, now) > 900);
	assert_true(fm_maps_cost(&m, 2 * MIB, now) > 900);
	assert_int_equal(fm_maps_cost(&m, 2 * MIB + 1, now), 0);
	now += MINUTE * MS;
	assert_int_equal(fm_maps_cost(&m, MIB, now), 0);
	map(&m, 4, 1, 10);
	now += MINUTE * MS; /* the next time it is for longer */
	assert_true(fm_maps_cost(&m, MIB, now) > 900);
}

static void long_ones_are_not(void **state)
{
	struct fm_maps m = { 0 };

	map(&m, 8, 10, 200);
	assert_int_equal(fm_maps_cost(&m, MIB, now), 0);
	map(&m, 4, 100, 200); /* a third of it */
	assert_int_equal(fm_maps_cost(&m, MIB, now), 333);
}

static void who_is_refused_pays_for_nothing(void **state)
{
	struct fm_maps m = { 0 };

	for (int i = 0; i < 4; i++)
		fm_maps_refused(&m, MIB, MS, now);
	assert_true(fm_maps_cost(&m, MIB, now) > 900);
}

static void what_is_long_ago_counts_less(void **state)
{
	const uint64_t half = fm_tune.serve_settle_ms;
	struct fm_lately l = { 0 };

	fm_lately_add(&l, 1000, 800);
	assert_int_equal(fm_lately_ns(&l, 1000), 800);
	assert_int_equal(fm_lately_ns(&l, 1000 + half / 2), 600);
	assert_int_equal(fm_lately_ns(&l, 1000 + half), 400);
	assert_int_equal(fm_lately_ns(&l, 1000 + 2 * half), 200);
	assert_int_equal(fm_lately_ns(&l, 1000 + 200 * half), 0);
}

static void half_of_a_thread(void **state)
{
	struct fm_lately l = { 0 };

	for (uint64_t ms = 0; ms < 60000; ms += 10)
		fm_lately_add(&l, ms, 5 * MS);
	assert_in_range(fm_lately_lost(&l, 60000), 450, 550);
}

static void each_file_has_its_entry(void **state)
{
	struct fm_serve_entry *a = fm_serve_of(1, 2), *b = fm_serve_of(2, 2);

	assert_null(fm_serve_find(1, 3));
	assert_non_null(a);
	assert_ptr_not_equal(a, b);
	assert_ptr_equal(fm_serve_of(1, 2), a);
	assert_ptr_equal(fm_serve_find(2, 2), b);
}

static void a_full_table_has_no_more(void **state)
{
	unsigned n = 0;

	while (fm_serve_of(7, ++n))
		;
	assert_true(n > 1000);
	assert_non_null(fm_serve_find(7, 1));
	assert_null(fm_serve_find(7, n));
}

FM_UNIT(maps)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(short_ones_are_the_kernels),
		cmocka_unit_test(long_ones_are_not),
		cmocka_unit_test(who_is_refused_pays_for_nothing),
		cmocka_unit_test(what_is_long_ago_counts_less),
		cmocka_unit_test(half_of_a_thread),
		cmocka_unit_test(each_file_has_its_entry),
		cmocka_unit_test(a_full_table_has_no_more),
	};

	return cmocka_run_group_tests_name("maps", tests, NULL, NULL);
}
