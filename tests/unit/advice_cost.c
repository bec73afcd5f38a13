/* SPDX-License-Identifier: MIT */
/* Which advice costs less, by what was seen of programs whose way of reading is
 * known, on devices that are. */
#include "unit.h"

#include "advise/advice_cost.h"

#define KIB ((uint64_t)1 << 10)
#define MIB ((uint64_t)1 << 20)
#define US 1000ull
#define MS 1000000ull

/* Reads that are alone: a disk of flash, and one that turns. */
static const struct fm_advice_facts flash = { 100 * US, 4 * US, 0, false, 0 };
static const struct fm_advice_facts disk = { 6700 * US, 27 * US, 0, false, 0 };

static struct fm_advice_facts wasting(struct fm_advice_facts f, uint64_t bytes)
{
	f.waste = bytes;
	return f;
}

static bool look(struct fm_opinion *o, uint32_t single, uint32_t pages,
		 const struct fm_advice_facts *f)
{
	const struct fm_touches s = { single, pages, 0 };
	const struct fm_costs_of c = fm_advice_costs(&s, f);
	const uint64_t sure = fm_advice_sure(f);
	const int64_t more = fm_advice_more(&c);

	return fm_opinion_leans(o, fm_lean_add(o->lean, more,
					       fm_opinion_most(o, sure)),
				more, sure);
}

static enum fm_advice after(uint32_t single, uint32_t pages,
			    const struct fm_advice_facts *f)
{
	struct fm_opinion o = { 0 };

	look(&o, single, pages, f);
	return o.says;
}

/* 8 MiB a touch, or 50 KiB where the kernel reads 128 ahead. */
static void random_access_is_random(void **state)
{
	const struct fm_advice_facts much = wasting(flash, 8 * MIB),
				    little = wasting(flash, 50 * KIB);

	assert_int_equal(after(2, 0, &much), FM_ADVICE_UNKNOWN);
	assert_int_equal(after(3, 0, &much), FM_ADVICE_RANDOM);
	assert_int_equal(after(20, 0, &little), FM_ADVICE_UNKNOWN);
	assert_int_equal(after(50, 0, &little), FM_ADVICE_RANDOM);
}

static void what_fits_is_read_as_the_kernel_does(void **state)
{
	struct fm_advice_facts f = wasting(flash, 8 * MIB);

	f.fits = true;
	assert_int_equal(after(20, 0, &f), FM_ADVICE_NORMAL);
}

static void a_row_is_not(void **state)
{
	const struct fm_advice_facts f = wasting(flash, 50 * KIB);

	assert_int_equal(after(0, 19, &f), FM_ADVICE_UNKNOWN);
	assert_int_equal(after(0, 20, &f), FM_ADVICE_NORMAL);
	assert_int_equal(after(40, 32000, &f), FM_ADVICE_NORMAL);
	assert_int_equal(after(1000, 0, &flash), FM_ADVICE_UNKNOWN);
}

/* Where a read is dear, it is about as much as what is read in vain. */
static void the_device_decides(void **state)
{
	const struct fm_advice_facts fast = wasting(flash, 250 * KIB),
				    slow = wasting(disk, 250 * KIB);

	assert_int_equal(after(100, 100, &fast), FM_ADVICE_RANDOM);
	assert_int_equal(after(100, 100, &slow), FM_ADVICE_NORMAL);
}

static void so_does_it_at_the_beginning(void **state)
{
	const struct fm_advice_facts f[] = {
		wasting(flash, 128 * KIB), wasting(flash, 8 * MIB),
		wasting(disk, 128 * KIB), wasting(disk, 1 * MIB),
	};

	assert_false(fm_advice_begins_random(&f[0]));
	assert_true(fm_advice_begins_random(&f[1]));
	assert_false(fm_advice_begins_random(&f[2]));
	assert_false(fm_advice_begins_random(&f[3]));
}

/* However long it was read in a row. */
static void a_change_is_felt(void **state)
{
	const struct fm_advice_facts f = wasting(flash, 8 * MIB);
	struct fm_opinion o = { 0 };

	assert_false(look(&o, 0, 1000000, &f));
	assert_false(look(&o, 2, 0, &f));
	assert_int_equal(o.says, FM_ADVICE_NORMAL);
	assert_true(look(&o, 1, 0, &f));
	assert_int_equal(o.says, FM_ADVICE_RANDOM);
	assert_false(look(&o, 1000, 0, &f));
	assert_false(look(&o, 0, 39, &f)); /* twice as sure */
	assert_true(look(&o, 0, 2, &f));
}

/* Twice as much makes sure each time; that is forgiven. */
static void nothing_swings(void **state)
{
	const struct fm_advice_facts f = wasting(flash, 8 * MIB);
	struct fm_opinion o = { 0 };

	for (unsigned k = 0; k < 20; k++)
		look(&o, k % 2 ? 0 : 6, k % 2 ? 42 : 0, &f);
	assert_int_equal(o.wrong, 3);
	for (unsigned k = 0; k < 20; k++)
		look(&o, k % 2 ? 0 : 600, k % 2 ? 4000 : 0, &f);
	assert_int_equal(o.wrong, 5);
	for (unsigned k = 0; k < 40; k++)
		fm_opinion_age(&o);
	assert_int_equal(o.wrong, 0);
}

static void neither_is_much_better(void **state)
{
	const struct fm_costs_of c[] = {
		{ 100, 80 }, { 100, 74 }, { 74, 100 }, { 0, 0 }
	};

	assert_true(fm_advice_more(&c[0]) == 0);
	assert_true(fm_advice_more(&c[1]) == 26);
	assert_true(fm_advice_more(&c[2]) == -26);
	assert_true(fm_advice_more(&c[3]) == 0);
}

static void what_is_not_heard_of_is_not_known(void **state)
{
	const struct fm_advice_facts f = wasting(flash, 8 * MIB);
	struct fm_opinion o = { 0 };

	look(&o, 100, 0, &f);
	for (unsigned k = 0; k < 3; k++)
		fm_opinion_age(&o);
	assert_int_equal(o.says, FM_ADVICE_RANDOM);
	look(&o, 0, 1, &f);
	fm_opinion_age(&o);
	assert_int_equal(o.says, FM_ADVICE_RANDOM);
	for (unsigned k = 0; k < 3; k++)
		fm_opinion_age(&o);
	assert_int_equal(o.says, FM_ADVICE_UNKNOWN);
}

/* Each touch in another segment: there will be more of them. */
static void what_is_touched_is_estimated(void **state)
{
	const uint64_t all = 4096 * MIB, left = 1024 * MIB;

	assert_false(fm_advice_fits(10, 9, 576 * MIB, all, left));
	assert_true(fm_advice_fits(100, 9, 576 * MIB, all, left));
	assert_true(fm_advice_fits(100, 16, 1024 * MIB, all, left));
	assert_false(fm_advice_fits(100, 17, 1088 * MIB, all, left));
}

FM_UNIT(advice_cost)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(random_access_is_random),
		cmocka_unit_test(what_fits_is_read_as_the_kernel_does),
		cmocka_unit_test(a_row_is_not),
		cmocka_unit_test(the_device_decides),
		cmocka_unit_test(so_does_it_at_the_beginning),
		cmocka_unit_test(a_change_is_felt),
		cmocka_unit_test(nothing_swings),
		cmocka_unit_test(neither_is_much_better),
		cmocka_unit_test(what_is_not_heard_of_is_not_known),
		cmocka_unit_test(what_is_touched_is_estimated),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
