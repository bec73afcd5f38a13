/* SPDX-License-Identifier: MIT */
/* When the kernel is tried as a server, and when it keeps the files. */
#include "unit.h"

#include "serve/serve.h"

#define MIB ((uint64_t)1 << 20)
#define ROOM (100 * MIB)
#define MINUTE 60u
#define HOPE 300u /* thousandths that are hoped to be saved */

static struct fm_trial t;
static struct fm_totals last, now;

static enum fm_trial_act second(uint32_t hope)
{
	struct fm_trial_second s = { .room = ROOM, .hope = hope };

	now.ms += 1000;
	if (t.state != FM_TRIAL_NONE)
		now.read_ns = t.before.fault_ns;
	s.rate = fm_rate_between(&last, &now);
	s.ms = now.ms;
	s.read_bytes = now.read_bytes;
	last = now;
	return fm_trial_step(&fm_trial_of_kernel, &t, &s);
}

static void start(void)
{
	t = (struct fm_trial){ 0 };
	last = now = (struct fm_totals){ .ms = 1000 };
}

/* A second in which threads spent so many ms in faults of 100 us. */
static enum fm_trial_act with_engine(uint64_t lost_ms, uint32_t hope)
{
	now.spent_ns += lost_ms * 1000000;
	now.faults += lost_ms * 10;
	return second(hope);
}

/* A second with so many faults that wait, and so much read. */
static enum fm_trial_act with_kernel(uint64_t major, uint64_t mib)
{
	now.major += major;
	now.read_bytes += mib * MIB;
	return second(0);
}

static void begin(void)
{
	assert_int_equal(with_engine(800, HOPE), FM_TRIAL_NOTHING);
	assert_int_equal(with_engine(800, HOPE), FM_TRIAL_BEGIN);
}

static void only_what_lasts_and_costs_is_tried(void **state)
{
	start();
	for (int k = 0; k < 9; k++) {
		assert_int_equal(with_engine(900, 0), FM_TRIAL_NOTHING);
		assert_int_equal(with_engine(900, HOPE), FM_TRIAL_NOTHING);
	}
	for (int k = 0; k < 9; k++)
		assert_int_equal(with_engine(200, HOPE), FM_TRIAL_NOTHING);
	begin();
}

static void what_is_hoped_for_adds_up(void **state)
{
	start();
	assert_int_equal(with_engine(900, 2 * HOPE), FM_TRIAL_BEGIN);
	start();
	assert_int_equal(with_engine(900, HOPE), FM_TRIAL_NOTHING);
	assert_int_equal(with_engine(900, 0), FM_TRIAL_NOTHING);
	assert_int_equal(with_engine(200, 2 * HOPE), FM_TRIAL_NOTHING);
	begin();
}

static void the_kernel_keeps_what_it_serves_better(void **state)
{
	start();
	begin();
	assert_int_equal(with_kernel(5000, 80), FM_TRIAL_NOTHING); /* fills */
	assert_int_equal(with_kernel(10, 1), FM_TRIAL_NOTHING);
	assert_int_equal(with_kernel(10, 1), FM_TRIAL_KEEP);
	for (int k = 0; k < 100; k++)
		assert_int_equal(with_kernel(k % 2 ? 9000 : 0, 1),
				 FM_TRIAL_NOTHING);
	with_kernel(0, 0);
	assert_int_equal(with_kernel(9000, 1), FM_TRIAL_NOTHING);
	assert_int_equal(with_kernel(9000, 1), FM_TRIAL_END);
}

/* But for the first second, in which the kernel has no advice yet. */
static void lose(void)
{
	assert_int_equal(with_kernel(40, 300), FM_TRIAL_NOTHING);
	assert_int_equal(with_kernel(40, 300), FM_TRIAL_END);
}

static void what_is_read_again_ends_it_soon(void **state)
{
	start();
	begin();
	lose();
}

/* The engine lacks 110 of a thousand pages and waits for 12,000 a second: all
 * of a thread's time. */
static void begin_without_rest(void)
{
	start();
	for (int k = 0; k < 2; k++) {
		now.loads += 12000;
		now.missing = 110;
		assert_int_equal(with_engine(950, HOPE),
				 k ? FM_TRIAL_BEGIN : FM_TRIAL_NOTHING);
	}
}

static enum fm_trial_act misses(uint32_t missing, uint64_t major)
{
	now.missing = missing;
	return with_kernel(major, 60);
}

/* Both have a thread wait all the time; the kernel for fewer accesses. */
static void who_gets_further_keeps_it(void **state)
{
	begin_without_rest();
	assert_int_equal(misses(50, 12000), FM_TRIAL_NOTHING);
	assert_int_equal(misses(50, 12000), FM_TRIAL_KEEP);
	for (int k = 0; k < 9; k++)
		assert_int_equal(misses(100, 12000), FM_TRIAL_NOTHING);
	assert_int_equal(misses(150, 12000), FM_TRIAL_NOTHING);
	assert_int_equal(misses(150, 12000), FM_TRIAL_END);
}

/* As far is not further, and what is not known is not either. */
static void who_gets_as_far_does_not(void **state)
{
	const uint32_t missing[] = { 100, 0 };

	for (int k = 0; k < 2; k++) {
		begin_without_rest();
		assert_int_equal(misses(missing[k], 12000), FM_TRIAL_NOTHING);
		assert_int_equal(misses(missing[k], 12000), FM_TRIAL_NOTHING);
		assert_int_equal(misses(missing[k], 12000), FM_TRIAL_END);
	}
}

static void it_ends_when_nothing_gets_better(void **state)
{
	start();
	begin();
	assert_int_equal(with_kernel(5000, 30), FM_TRIAL_NOTHING);
	assert_int_equal(with_kernel(5000, 30), FM_TRIAL_NOTHING);
	assert_int_equal(with_kernel(5000, 30), FM_TRIAL_END);
}

/* How many seconds pass before the next one. */
static unsigned next_trial(void)
{
	unsigned n = 1;

	while (with_engine(800, HOPE) != FM_TRIAL_BEGIN)
		n++;
	return n;
}

static void trials_become_rare(void **state)
{
	const unsigned pause[] = { MINUTE, 2 * MINUTE, 4 * MINUTE,
				   8 * MINUTE };

	start();
	begin();
	for (unsigned k = 0; k < 4; k++) {
		lose();
		assert_int_equal(next_trial(), pause[k]);
	}
}

/* One that was won begins the row anew. */
static void what_was_won_is_forgiven(void **state)
{
	start();
	begin();
	lose();
	assert_int_equal(next_trial(), MINUTE);
	assert_int_equal(with_kernel(10, 1), FM_TRIAL_NOTHING);
	assert_int_equal(with_kernel(10, 1), FM_TRIAL_KEEP);
	assert_int_equal(with_kernel(9000, 1), FM_TRIAL_NOTHING);
	assert_int_equal(with_kernel(9000, 1), FM_TRIAL_END);
	assert_int_equal(next_trial(), MINUTE);
}

/* Ten minutes without a reason for one end the row. */
static void what_is_long_ago_is_forgiven(void **state)
{
	start();
	begin();
	lose();
	assert_int_equal(next_trial(), MINUTE);
	lose();
	for (unsigned k = 0; k < 13 * MINUTE; k++)
		assert_int_equal(with_engine(100, 0), FM_TRIAL_NOTHING);
	begin();
	lose();
	assert_int_equal(next_trial(), MINUTE);
}

static void what_cannot_begin_is_not_tried_soon(void **state)
{
	start();
	begin();
	fm_trial_refused(&t, now.ms);
	assert_int_equal(next_trial(), 32 * MINUTE);
}

/* Of a database of many files none has a part of all. */
static void of_many_alike_each_is_to_blame(void **state)
{
	uint64_t most = 0;
	unsigned n = 0;

	for (uint64_t i = 0; i < 128; i++)
		most = most > 900 + i ? most : 900 + i;
	for (uint64_t i = 0; i < 128; i++)
		n += fm_trial_to_blame(900 + i, most);
	assert_int_equal(n, 128);
	assert_false(fm_trial_to_blame(most / 9, most));
	assert_false(fm_trial_to_blame(0, 0));
	(void)state;
}

/* The engine, on trial: two seconds of hope, then it has to be better. */
static void the_engine_is_tried(void **state)
{
	struct fm_trial_second s = { .ms = 1000, .hope = HOPE, .room = ROOM };
	unsigned n = 0;

	start();
	s.rate = (struct fm_rate){ .kernel = 900, .waits = 1000,
				   .missing = 500 };
	while (fm_trial_step(&fm_trial_of_engine, &t, &s) != FM_TRIAL_BEGIN) {
		s.ms += 1000;
		n++;
	}
	assert_int_equal(n, 1);
	s.rate = (struct fm_rate){ .engine = 900, .waits = 1500,
				   .missing = 500 };
	for (n = 0; n < 2; n++) {
		s.ms += 1000;
		assert_int_equal(fm_trial_step(&fm_trial_of_engine, &t, &s),
				 n ? FM_TRIAL_KEEP : FM_TRIAL_NOTHING);
	}
}

FM_UNIT(trial)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(only_what_lasts_and_costs_is_tried),
		cmocka_unit_test(what_is_hoped_for_adds_up),
		cmocka_unit_test(the_kernel_keeps_what_it_serves_better),
		cmocka_unit_test(what_is_read_again_ends_it_soon),
		cmocka_unit_test(who_gets_further_keeps_it),
		cmocka_unit_test(who_gets_as_far_does_not),
		cmocka_unit_test(it_ends_when_nothing_gets_better),
		cmocka_unit_test(trials_become_rare),
		cmocka_unit_test(what_was_won_is_forgiven),
		cmocka_unit_test(what_is_long_ago_is_forgiven),
		cmocka_unit_test(what_cannot_begin_is_not_tried_soon),
		cmocka_unit_test(of_many_alike_each_is_to_blame),
		cmocka_unit_test(the_engine_is_tried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
