/* SPDX-License-Identifier: MIT */
/* The detector by itself: what becomes a stream, which way it goes, and when it
 * turns or ends. */
#include "unit.h"

#include <stdlib.h>

#include "readahead/detect.h"

static struct fm_stream_set set;
static const struct fm_sight faults = { .near = 16, .patience = 32, .each = 4 };
static const struct fm_sight looks = { .near = 1024, .patience = 300 };

static int begin(void **state)
{
	fm_streams_clear(&set);
	set.clock = 1000;
	srandom(1);
	return 0;
}

/* Reader `who` waits for page i. */
static struct fm_stream *fault(uint32_t who, int64_t i)
{
	const struct fm_seen e = { .i = i, .lo = i, .hi = i + 1, .who = who };

	set.clock++;
	return fm_detect(&set, &e, &faults);
}

/* Pages [lo, hi) of a range were touched in a look, 10 ms after the last. */
static struct fm_stream *look(uint32_t range, int64_t lo, int64_t hi)
{
	const struct fm_seen e = { .i = FM_NEVER, .lo = lo, .hi = hi,
				   .who = range };

	set.clock += 10;
	return fm_detect(&set, &e, &looks);
}

static int64_t step_of(const struct fm_stream *s)
{
	return s ? s->step : 0;
}

static unsigned live(void)
{
	unsigned n = 0;

	for (unsigned k = 0; k < FM_STREAMS; k++)
		n += set.s[k].live;
	return n;
}

static void forward(void **state)
{
	assert_null(fault(1, 100));
	assert_int_equal(step_of(fault(1, 101)), 1);
	for (int64_t i = 102; i < 200; i++)
		assert_ptr_equal(fault(1, i), &set.s[0]);
	assert_int_equal(set.s[0].pos, 199);
	assert_int_equal(set.s[0].edge, 200);
	assert_int_equal(set.s[0].passed, 100);
	assert_int_equal(live(), 1);
}

static void backward(void **state)
{
	assert_null(fault(1, 200));
	assert_int_equal(step_of(fault(1, 199)), -1);
	for (int64_t i = 198; i > 100; i--)
		assert_ptr_equal(fault(1, i), &set.s[0]);
	assert_int_equal(set.s[0].pos, 101);
	assert_int_equal(set.s[0].edge, 100);
}

static void stride(void **state)
{
	for (int down = 0; down < 2; down++) {
		const int64_t d = down ? -100 : 100;

		begin(state);
		assert_null(fault(1, 50000));
		assert_null(fault(1, 50000 + d));
		assert_int_equal(step_of(fault(1, 50000 + 2 * d)), d);
		assert_int_equal(set.s[0].edge, 50000 + 3 * d);
		assert_int_equal(step_of(fault(1, 50000 + 3 * d)), d);
		assert_null(fault(1, 50000 + 3 * d + 40)); /* no step */
	}
}

/* A small part is left out here and there. */
static void leaps(void **state)
{
	assert_null(fault(1, 100));
	assert_null(fault(1, 103));
	assert_null(fault(1, 115));
	assert_int_equal(step_of(fault(1, 117)), 1);
	begin(state);
	assert_null(fault(1, 117));
	assert_null(fault(1, 115));
	assert_null(fault(1, 103));
	assert_int_equal(step_of(fault(1, 100)), -1);
}

/* Between two steps of one thread come all the others. */
static void threads_in_turns(void **state)
{
	for (int64_t k = 0; k < 3; k++)
		for (uint32_t t = 0; t < 7; t++)
			assert_int_equal(step_of(fault(t, t * 9999 + k * 64)),
					 k == 2 ? 64 : 0);
	assert_int_equal(live(), 7);
}

/* One after the other, whichever thread. */
static void threads_share_a_stream(void **state)
{
	for (uint32_t k = 1; k < 100; k++)
		assert_int_equal(step_of(fault(k % 7, 500 + k)), k > 1);
	assert_int_equal(live(), 1);
}

/* They share out what lies in order, and have begun a stream each. */
static void one_where_the_first_reads_to_the_next(void **state)
{
	for (int64_t k = 0; k < 50; k++) {
		fault(1, 100 + k);
		fault(2, 300 + k);
	}
	assert_int_equal(live(), 2);
	set.s[0].edge = 400; /* what was asked for ahead of it */
	fault(1, 150);
	assert_int_equal(live(), 1);
	assert_int_equal(set.s[0].pos, 349);
	assert_int_equal(set.s[0].edge, 400);
	assert_int_equal(set.s[0].passed, 101);
}

static void one_where_both_go_down(void **state)
{
	for (int64_t k = 0; k < 50; k++) {
		fault(1, 400 - k);
		fault(2, 200 - k);
	}
	assert_int_equal(live(), 2);
	set.s[0].edge = 100;
	fault(1, 350);
	assert_int_equal(live(), 1);
	assert_int_equal(set.s[0].pos, 151);
	assert_int_equal(set.s[0].edge, 100);
}

/* Where their parts begin at equal distances all between is read, too. */
static void parts_are_no_stride(void **state)
{
	for (int64_t k = 0; k <= 300; k++)
		fault(1, 100 + k);
	set.s[0].edge = 700;
	fault(2, 550);
	fault(3, 700);
	assert_null(fault(4, 850));
	assert_int_equal(live(), 1);
}

static void a_stride_ends_where_all_is_read(void **state)
{
	for (int64_t k = 0; k < 3; k++)
		fault(1, 1000 + 100 * k);
	assert_int_equal(step_of(&set.s[0]), 100);
	for (int64_t k = 1; k < 35; k++)
		fault(2, 1200 + k);
	assert_int_equal(live(), 2);
	assert_int_not_equal(step_of(fault(3, 1300)), 100);
	assert_int_equal(live(), 1);
}

/* What was gone through once is not for ever. */
static void strides_where_a_scan_has_been(void **state)
{
	unsigned n = 0;

	for (int64_t i = 0; i < 30000; i++)
		fault(1, i);
	for (int64_t k = 0; k < 200; k++)
		n += step_of(fault(1, 1000 + 100 * k)) == 100;
	assert_true(n >= 100);
}

static void crossed_streams(void **state)
{
	for (int64_t k = 0; k < 50; k++) {
		struct fm_stream *up = fault(1, 1000 + k);
		struct fm_stream *down = fault(1, 9000 - k);
		struct fm_stream *wide = fault(1, 20000 + 32 * k);

		assert_int_equal(step_of(up), k > 0);
		assert_int_equal(step_of(down), k > 0 ? -1 : 0);
		assert_int_equal(step_of(wide), k > 1 ? 32 : 0);
	}
	assert_int_equal(live(), 3);
}

static void turns(void **state)
{
	for (int64_t i = 100; i < 103; i++)
		fault(1, i);
	assert_int_equal(step_of(fault(1, 99)), 1); /* not yet */
	assert_int_equal(step_of(fault(1, 98)), 1);
	assert_int_equal(step_of(fault(1, 97)), -1);
	assert_int_equal(set.s[0].edge, 96);
}

/* Another thread that reads along, behind. */
static void late_neighbour(void **state)
{
	fault(1, 100);
	fault(1, 101);
	fault(1, 103);
	assert_int_equal(step_of(fault(2, 102)), 1);
	assert_int_equal(step_of(fault(1, 104)), 1);
	assert_int_equal(set.s[0].pos, 104);
	assert_int_equal(live(), 1);
}

static void at_random(void **state)
{
	unsigned n = 0;

	for (int k = 0; k < 20000; k++)
		n += !!fault((uint32_t)random() % 8, random() % (1 << 20));
	assert_true(n <= 10);
}

/* Lists of two pages here and there, then scans between them. */
static void few_that_last(void **state)
{
	for (int k = 0; k < 60; k++) {
		fault(1, k * 10000);
		assert_int_equal(step_of(fault(1, k * 10000 + 1)), 1);
	}
	assert_false(fm_detect_in_vain(&set));
	for (int k = 60; k < 100; k++) {
		fault(1, k * 10000);
		fault(1, k * 10000 + 1);
	}
	assert_true(fm_detect_in_vain(&set));
	for (int k = 0; k < 100; k++)
		for (int i = 0; i < 50; i++)
			fault(1, 2000000 + k * 10000 + i);
	assert_false(fm_detect_in_vain(&set));
}

static void is_forgotten(void **state)
{
	fault(1, 100);
	fault(1, 101);
	set.clock += 30;
	assert_int_equal(step_of(fault(1, 102)), 1);
	set.clock += 1000;
	fault(1, 5000);
	assert_int_equal(live(), 0);
}

static void a_leap_halves_what_it_has_earned(void **state)
{
	for (int64_t i = 0; i < 64; i++)
		fault(1, i);
	set.s[0].edge = 500;
	assert_ptr_equal(fault(1, 400), &set.s[0]);
	assert_int_equal(set.s[0].passed, 32);
}

/* However far it came: what is touched at random then finds now one page of
 * what it has ahead, now another. */
static void long_scan_then_at_random(void **state)
{
	struct fm_stream *s = &set.s[0];

	for (int64_t i = 0; i < 200000; i++)
		fault(1, i);
	for (int k = 0; k < 60; k++) {
		s->edge = s->pos + 4096;
		assert_ptr_equal(fault(1, s->pos + 1 + random() % 4096), s);
	}
	assert_true(s->passed < 4096);
}

static void credit_is_twice_what_it_passed(void **state)
{
	assert_int_equal(fm_detect_earned(10, 100), 20);
	assert_int_equal(fm_detect_earned(50, 100), 100);
	assert_int_equal(fm_detect_earned(1000, 100), 100 + 1900 / 16);
}

static void looks_at_a_range(void **state)
{
	assert_null(look(7, 5000, 5500));
	assert_null(look(7, 5600, 6100));
	assert_null(look(7, 6000, 6700));
	assert_int_equal(step_of(look(7, 6700, 7000)), 1);
	assert_int_equal(set.s[0].passed, 2000);
	assert_int_equal(set.s[0].behind, 5000);
	assert_int_equal(set.s[0].who, 7);
	assert_int_equal(step_of(look(7, 7900, 8000)), 1); /* not all is seen */
	assert_int_equal(set.s[0].passed, 3000);
}

/* Two streams in one range, and one that turns. */
static void looks_at_two_streams(void **state)
{
	for (int64_t k = 0; k < 8; k++) {
		struct fm_stream *up = look(7, 10000 + k * 600,
					    10600 + k * 600);
		struct fm_stream *down = look(7, 90000 - k * 600,
					      90600 - k * 600);

		assert_int_equal(step_of(up), k > 2);
		assert_int_equal(step_of(down), k > 2 ? -1 : 0);
	}
	assert_int_equal(live(), 2);
	for (int64_t k = 6; k > 3; k--)
		look(7, 10000 + k * 600, 10600 + k * 600);
	assert_int_equal(step_of(look(7, 11800, 12400)), -1);
	assert_int_equal(live(), 2);
}

static void rows_here_and_there(void **state)
{
	for (int k = 0; k < 2000; k++) {
		const int64_t at = random() % (1 << 24);

		assert_null(look(7, at, at + 64));
	}
}

FM_UNIT(detect)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(forward, begin),
		cmocka_unit_test_setup(backward, begin),
		cmocka_unit_test_setup(stride, begin),
		cmocka_unit_test_setup(leaps, begin),
		cmocka_unit_test_setup(threads_in_turns, begin),
		cmocka_unit_test_setup(threads_share_a_stream, begin),
		cmocka_unit_test_setup(one_where_the_first_reads_to_the_next,
				       begin),
		cmocka_unit_test_setup(one_where_both_go_down, begin),
		cmocka_unit_test_setup(parts_are_no_stride, begin),
		cmocka_unit_test_setup(a_stride_ends_where_all_is_read, begin),
		cmocka_unit_test_setup(strides_where_a_scan_has_been, begin),
		cmocka_unit_test_setup(crossed_streams, begin),
		cmocka_unit_test_setup(turns, begin),
		cmocka_unit_test_setup(late_neighbour, begin),
		cmocka_unit_test_setup(at_random, begin),
		cmocka_unit_test_setup(few_that_last, begin),
		cmocka_unit_test_setup(is_forgotten, begin),
		cmocka_unit_test_setup(a_leap_halves_what_it_has_earned, begin),
		cmocka_unit_test_setup(long_scan_then_at_random, begin),
		cmocka_unit_test_setup(credit_is_twice_what_it_passed, begin),
		cmocka_unit_test_setup(looks_at_a_range, begin),
		cmocka_unit_test_setup(looks_at_two_streams, begin),
		cmocka_unit_test_setup(rows_here_and_there, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
