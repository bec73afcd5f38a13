/* SPDX-License-Identifier: MIT */
/* Which advice is better, by what was counted of programs whose way of reading
 * is known. */
#include "unit.h"

#include "advise/weigh.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)

static struct fm_pattern pattern(uint32_t single, uint32_t pages)
{
	return (struct fm_pattern){ .single = single, .pages = pages };
}

static enum fm_advice weigh(uint32_t single, uint32_t pages, uint64_t bytes,
			    uint64_t faults, bool fits)
{
	const struct fm_pattern p = pattern(single, pages);

	return fm_weigh(&p, FM_ADVICE_NORMAL, fm_weigh_waste(&p, bytes, faults),
			fits);
}

/* 8 MiB a fault, or 110 KiB where the kernel reads 128 ahead. */
static void random_access_is_random(void **state)
{
	assert_int_equal(weigh(10, 0, 80 * MIB, 10, false), FM_ADVICE_RANDOM);
	assert_int_equal(weigh(300, 0, 300 * (110 << 10), 300, false),
			 FM_ADVICE_RANDOM);
}

static void what_fits_is_read_as_the_kernel_does(void **state)
{
	const struct fm_pattern p = pattern(300, 0);

	assert_int_equal(weigh(10, 0, 80 * MIB, 10, true), FM_ADVICE_NORMAL);
	assert_int_equal(fm_weigh(&p, FM_ADVICE_RANDOM, MIB, true),
			 FM_ADVICE_NORMAL);
}

/* 64 KiB a fault, however few of them. */
static void a_stream_is_not(void **state)
{
	assert_int_equal(weigh(0, 16000, 1000 * (64 << 10), 1000, false),
			 FM_ADVICE_NORMAL);
	assert_int_equal(weigh(20, 0, 20 * (64 << 10), 20, false),
			 FM_ADVICE_NORMAL);
}

static void neither_is_a_scan_beside_a_hot_set(void **state)
{
	assert_int_equal(weigh(40, 32000, 2040 * (64 << 10), 2040, false),
			 FM_ADVICE_NORMAL);
}

static void few_touches_say_nothing(void **state)
{
	assert_int_equal(weigh(7, 0, 7 * MIB / 2, 7, false), FM_ADVICE_NORMAL);
	assert_int_equal(weigh(2, 0, 16 * MIB, 2, false), FM_ADVICE_NORMAL);
	assert_int_equal(weigh(3, 0, 24 * MIB, 3, false), FM_ADVICE_RANDOM);
}

/* Advised as random it shows as single pages in a row. */
static void a_stream_of_single_pages_goes_back(void **state)
{
	const struct fm_pattern p = pattern(10, 20000), few = pattern(3000, 64);

	assert_int_equal(fm_weigh(&p, FM_ADVICE_RANDOM, 8 * MIB, false),
			 FM_ADVICE_NORMAL);
	assert_int_equal(fm_weigh(&few, FM_ADVICE_RANDOM, 8 * MIB, false),
			 FM_ADVICE_RANDOM);
}

/* Between the two it stays what it is. */
static void nothing_swings(void **state)
{
	const struct fm_pattern p = pattern(10, 1400);

	assert_int_equal(fm_weigh(&p, FM_ADVICE_RANDOM, 8 * MIB, false),
			 FM_ADVICE_RANDOM);
	assert_int_equal(fm_weigh(&p, FM_ADVICE_NORMAL, 8 * MIB, false),
			 FM_ADVICE_NORMAL);
}

/* Each touch in another segment: there will be more of them. */
static void what_is_touched_is_estimated(void **state)
{
	const struct fm_weigh_memory m = { .left = 1024 * MIB };
	const uint64_t all = 4096 * MIB;

	assert_false(fm_weigh_fits(10, 9, 576 * MIB, all, &m,
				   FM_ADVICE_NORMAL));
	assert_true(fm_weigh_fits(100, 9, 576 * MIB, all, &m,
				  FM_ADVICE_NORMAL));
	assert_false(fm_weigh_fits(100, 16, 1024 * MIB, all, &m,
				   FM_ADVICE_NORMAL));
}

static void what_just_fits_is_read_once(void **state)
{
	struct fm_weigh_memory m = { .left = 1024 * MIB };
	const uint64_t all = 1000 * MIB;

	m.read = 1500 * MIB;
	assert_true(fm_weigh_fits(100, 9, all, all, &m, FM_ADVICE_NORMAL));
	m.read += MIB;
	assert_false(fm_weigh_fits(100, 9, all, all, &m, FM_ADVICE_NORMAL));
	m.read = 0;
	assert_false(fm_weigh_fits(100, 9, all, all, &m, FM_ADVICE_RANDOM));
	assert_true(fm_weigh_fits(100, 9, 760 * MIB, all, &m,
				  FM_ADVICE_RANDOM));
}

static void what_was_counts_half(void **state)
{
	struct fm_pattern p = { 0 };

	for (int k = 0; k < 16; k++)
		fm_pattern_single(&p, 1);
	assert_true(fm_pattern_tells(&p));
	fm_pattern_age(&p);
	fm_pattern_age(&p);
	assert_false(fm_pattern_tells(&p));
	fm_pattern_row(&p, 1000);
	assert_true(fm_pattern_tells(&p));
}

/* What was in a row before is forgotten where each touch costs milliseconds. */
static void a_change_is_felt(void **state)
{
	assert_true(fm_weigh_changed(4, 33 * MIB, 4));
	assert_false(fm_weigh_changed(3, 33 * MIB, 4));
	assert_false(fm_weigh_changed(100, 12 * MIB, 100));
	assert_false(fm_weigh_changed(4, 33 * MIB, 0));
}

/* With a small read-ahead a look full of single touches says so. */
static void a_look_speaks_for_itself(void **state)
{
	struct fm_pattern look = { 0 };

	for (int k = 0; k < 31; k++)
		fm_pattern_single(&look, 1);
	assert_false(fm_weigh_looked(&look));
	fm_pattern_single(&look, 1);
	assert_true(fm_weigh_looked(&look));
	assert_true(fm_weigh_look(&look, 32 * 110 * KIB, 32));
	/* nothing is read in vain */
	assert_false(fm_weigh_look(&look, 32 * 64 * KIB, 32));
	/* a stream beside them */
	fm_pattern_row(&look, 1600);
	assert_false(fm_weigh_look(&look, 32 * 110 * KIB + 6 * MIB, 132));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_look_speaks_for_itself),
		cmocka_unit_test(random_access_is_random),
		cmocka_unit_test(what_fits_is_read_as_the_kernel_does),
		cmocka_unit_test(a_stream_is_not),
		cmocka_unit_test(neither_is_a_scan_beside_a_hot_set),
		cmocka_unit_test(few_touches_say_nothing),
		cmocka_unit_test(a_stream_of_single_pages_goes_back),
		cmocka_unit_test(nothing_swings),
		cmocka_unit_test(what_is_touched_is_estimated),
		cmocka_unit_test(what_just_fits_is_read_once),
		cmocka_unit_test(what_was_counts_half),
		cmocka_unit_test(a_change_is_felt),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
