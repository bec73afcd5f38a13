/* SPDX-License-Identifier: MIT */
/* serve/maps.h, again.h, lately.h, table.h: what it costs to map a file anew,
 * what took time of late, and where that is kept. */
#include "unit.h"

#include "serve/serve.h"
#include "tunables.h"

#define MS 1000000ull
#define MIB ((size_t)1 << 20)
#define MINUTE 60000ull

static uint64_t now = 1000 * MS;

static const struct fm_maps_use nothing = { 0 };

/* So many mappings of 1 MiB, each took `took` and stays for `stays` ms. */
static void map(struct fm_maps *m, unsigned n, unsigned took, unsigned stays)
{
	while (n--) {
		now += took * MS;
		fm_maps_begin(m, MIB, took * MS, now);
		now += stays * MS;
		fm_maps_end(m, NULL, &nothing, now);
	}
}

static void short_ones_are_the_kernels(void **state)
{
	struct fm_maps m = { 0 };

	map(&m, 3, 1, 10);
	assert_int_equal(fm_maps_cost(&m, NULL, MIB, now), 0);
	map(&m, 1, 1, 10);
	assert_true(fm_maps_cost(&m, NULL, MIB, now) > 900);
	assert_true(fm_maps_cost(&m, NULL, 2 * MIB, now) > 900);
	assert_int_equal(fm_maps_cost(&m, NULL, 2 * MIB + 1, now), 0);
	now += MINUTE * MS;
	assert_int_equal(fm_maps_cost(&m, NULL, MIB, now), 0);
	map(&m, 4, 1, 10);
	now += MINUTE * MS; /* the next time it is for longer */
	assert_true(fm_maps_cost(&m, NULL, MIB, now) > 900);
}

static void long_ones_are_not(void **state)
{
	struct fm_maps m = { 0 };

	map(&m, 8, 10, 200);
	assert_int_equal(fm_maps_cost(&m, NULL, MIB, now), 0);
	map(&m, 4, 100, 200); /* a third of it */
	assert_int_equal(fm_maps_cost(&m, NULL, MIB, now), 333);
}

static void who_is_refused_pays_for_nothing(void **state)
{
	struct fm_maps m = { 0 };

	for (int i = 0; i < 4; i++)
		fm_maps_refused(&m, MIB, MS, now);
	assert_true(fm_maps_cost(&m, NULL, MIB, now) > 900);
}

/* So many files, each is mapped once. */
static void map_files(struct fm_maps *alike, unsigned n, unsigned stays)
{
	while (n--) {
		struct fm_maps m = { 0 };

		fm_maps_begin(&m, MIB, MS, now += MS);
		fm_maps_end(&m, alike, &nothing, now += stays * MS);
	}
}

static void files_alike_tell_of_a_new_one(void **state)
{
	struct fm_maps alike = { 0 }, worth = { 0 }, late = { 0 };

	map(&worth, 4, 1, 200);
	map(&late, 4, 1, 10);
	map_files(&alike, 3, 10);
	assert_int_equal(fm_maps_cost(NULL, &alike, MIB, now), 0);
	map_files(&alike, 1, 10);
	assert_true(fm_maps_cost(NULL, &alike, MIB, now) > 900);
	assert_int_equal(fm_maps_cost(NULL, &alike, 3 * MIB, now), 0);
	/* what is known of itself comes first, while it is */
	assert_int_equal(fm_maps_cost(&worth, &alike, MIB, now), 0);
	now += MINUTE * MS;
	assert_int_equal(fm_maps_cost(&late, &alike, MIB, now), 0);
	map_files(&alike, 4, 10);
	assert_true(fm_maps_cost(&late, &alike, MIB, now) > 900);
}

static void files_that_stay_mapped_are_the_engines(void **state)
{
	struct fm_maps alike = { 0 };

	map_files(&alike, 8, 200);
	assert_int_equal(fm_maps_cost(NULL, &alike, MIB, now), 0);
}

/* On a busy machine all of it takes long. */
static void what_is_read_through_once_is_the_kernels(void **state)
{
	struct fm_maps_use use = { .spent_ns = 40 * MS, .read = MIB };

	for (int more = 0; more < 2; more++, use.read *= 2) {
		struct fm_maps m = { 0 };

		for (int i = 0; i < 4; i++) {
			fm_maps_begin(&m, MIB, MS, now += MS);
			fm_maps_end(&m, NULL, &use, now += 99 * MS);
		}
		assert_int_equal(fm_maps_cost(&m, NULL, MIB, now),
				 more ? 0 : 409);
	}
}

/* What a take-over costs is set against the pages that it brought. */
static void long_ones_are_judged_by_what_they_read(void **state)
{
	const size_t len = (size_t)fm_tune.serve_window + MIB;
	struct fm_maps_use use = { .spent_ns = MS, .read = 10 * MIB };
	struct fm_maps alike = { 0 };

	for (unsigned saved = 0; saved <= 18; saved += 9) {
		struct fm_maps m = { 0 };

		use.saved_ns = saved * MS;
		for (int i = 0; i < 4; i++) {
			fm_maps_begin(&m, len, 15 * MS, now += 15 * MS);
			fm_maps_end(&m, &alike, &use, now += 5 * MS);
		}
		assert_int_equal(fm_maps_cost(&m, NULL, len, now),
				 saved == 0 ? 749 : saved == 9 ? 299 : 0);
		assert_int_equal(fm_maps_cost(&m, NULL, len + 1, now), 0);
	}
	assert_int_equal(fm_maps_cost(NULL, &alike, len, now), 0);
}

/* What an unmap has lost the page cache would have kept, whatever else the
 * engine saved; it is no part of what a long window costs otherwise. */
static void what_an_unmap_has_lost_counts(void **state)
{
	const size_t window = (size_t)fm_tune.serve_window;
	struct fm_maps_use use = { .spent_ns = 60 * MS, .saved_ns = 15 * MS };

	for (unsigned again = 0; again <= 60; again += 30) {
		struct fm_maps m = { 0 }, longer = { 0 };

		use.again_ns = again * MS;
		for (int i = 0; i < 4; i++) {
			fm_maps_begin(&m, window, 5 * MS, now += 5 * MS);
			fm_maps_begin(&longer, window + MIB, 5 * MS, now);
			now += 95 * MS;
			fm_maps_end(&m, NULL, &use, now);
			fm_maps_end(&longer, NULL, &use, now);
		}
		assert_int_equal(fm_maps_cost(&m, NULL, window, now),
				 again == 0 ? 0 : again == 30 ? 349 : 649);
		assert_int_equal(
			fm_maps_cost(&longer, NULL, window + MIB, now),
			again == 60 ? 499 : 0);
	}
}

static void alike_are_files_of_a_device_and_length(void **state)
{
	struct fm_maps *a = fm_serve_alike(1, MIB, true);

	assert_null(fm_serve_alike(1, MIB, false));
	a->n = 1;
	assert_ptr_equal(fm_serve_alike(1, MIB, false), a);
	assert_ptr_equal(fm_serve_alike(1, 2 * MIB - 1, true), a);
	assert_null(fm_serve_alike(1, 2 * MIB, false));
	assert_null(fm_serve_alike(2, MIB, false));
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

#define MOVE_NS (3 * MS)

static void what_an_unmap_loses_is_the_kernels(void **state)
{
	struct fm_again a = { 0 };

	assert_false(fm_again_pays(&a, 8 * MS, 2 * MS, MOVE_NS, 1000));
	assert_true(fm_again_pays(&a, 12 * MS, 3 * MS, MOVE_NS, 1000));
	assert_int_equal(fm_again_lost(&a, 1000), 0); /* of 2 s */
	a = (struct fm_again){ 0 };
	assert_false(fm_again_pays(&a, 16 * MS, 3 * MS, MOVE_NS, 1000));
	/* nothing more of it: half of that is forgotten */
	assert_false(fm_again_pays(&a, 16 * MS, 3 * MS, MOVE_NS,
				   1000 + fm_tune.serve_settle_ms));
}

static void what_was_lost_holds_the_next_one(void **state)
{
	struct fm_maps m = { 0 };

	fm_maps_lost(&m, 100 * MIB, 1, now);
	assert_true(fm_maps_cost(&m, NULL, 100 * MIB, now) >=
		    fm_tune.serve_lost_much);
	assert_int_equal(fm_maps_cost(&m, NULL, 101 * MIB, now), 0);
	now += MINUTE * MS;
	assert_int_equal(fm_maps_cost(&m, NULL, MIB, now), 0);
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
		cmocka_unit_test(files_alike_tell_of_a_new_one),
		cmocka_unit_test(files_that_stay_mapped_are_the_engines),
		cmocka_unit_test(what_is_read_through_once_is_the_kernels),
		cmocka_unit_test(long_ones_are_judged_by_what_they_read),
		cmocka_unit_test(what_an_unmap_has_lost_counts),
		cmocka_unit_test(alike_are_files_of_a_device_and_length),
		cmocka_unit_test(what_is_long_ago_counts_less),
		cmocka_unit_test(half_of_a_thread),
		cmocka_unit_test(what_an_unmap_loses_is_the_kernels),
		cmocka_unit_test(what_was_lost_holds_the_next_one),
		cmocka_unit_test(each_file_has_its_entry),
		cmocka_unit_test(a_full_table_has_no_more),
	};

	return cmocka_run_group_tests_name("maps", tests, NULL, NULL);
}
