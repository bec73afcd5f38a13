/* SPDX-License-Identifier: MIT */
/* life.c - entries run level by level, and what may fail ends the start. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "base/life.h"
#include "engine.h"

static char did[64];
static int fails;

static void note(const char *what)
{
	strcat(did, what);
}

static int last(void)
{
	note(fm_life_running() ? "R" : "r");
	return 0;
}

static int first(void)
{
	note("g");
	return 0;
}

static int without(void)
{
	note("h");
	return -ENOMEM; /* nothing to say of it: done without */
}

static int middle(void)
{
	note("i");
	return fails;
}

static void forked(void)
{
	note("f");
}

static void reset_low(void)
{
	note("a");
}

static void reset_high(void)
{
	note("z");
}

FM_LIFE(last, .level = FM_LIFE_RUNNING, .start = last, .reset = reset_high,
	.stop = reset_high)
FM_LIFE(without, .level = FM_LIFE_HELPERS, .start = without, .forked = forked)
FM_LIFE(middle, .level = FM_LIFE_IO, .start = middle, .what = "the test",
	.remedy = "none")
FM_LIFE(first, .level = FM_LIFE_GATE, .start = first, .reset = reset_low,
	.stop = reset_low)

static void starts_upwards(void **state)
{
	did[0] = 0;
	assert_int_equal(fm_life_need(), 0);
	assert_string_equal(did, "gihR");
	assert_int_equal(fm_life_need(), 0); /* once */
	assert_string_equal(did, "gihR");
	assert_true(fm_life_is_owner());
	assert_false(fm_life_is_child());
}

static void stops_downwards(void **state)
{
	did[0] = 0;
	fm_life_stop();
	assert_string_equal(did, "za");
}

static void child_begins_anew(void **state)
{
	did[0] = 0;
	fm_life_forked();
	assert_string_equal(did, "afz");
	assert_false(fm_life_running());
	assert_true(fm_life_is_child());
	fm_life_forked(); /* nothing runs: nothing to reset */
	assert_string_equal(did, "afzf");
}

static void failure_is_final(void **state)
{
	did[0] = 0;
	fails = -ENOSYS;
	assert_int_equal(fm_life_need(), -ENOSYS);
	assert_string_equal(did, "gi");
	assert_false(fm_life_running());
	fails = 0;
	assert_int_equal(fm_life_need(), -ENOSYS);
	assert_string_equal(did, "gi");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(starts_upwards),
		cmocka_unit_test(stops_downwards),
		cmocka_unit_test(child_begins_anew),
		cmocka_unit_test(failure_is_final),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
