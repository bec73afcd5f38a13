/* SPDX-License-Identifier: MIT */
#include "advise/pace.h"

#include "tunables.h"
#include "unit.h"

#define KIB ((uint64_t)1 << 10)

/* For so many turns of a look, at so many KiB a ms with help and without. */
static unsigned helped(struct fm_pace *p, uint64_t *passed, uint64_t *ms,
		       unsigned with, unsigned without)
{
	unsigned n = 0;
	bool help = false;

	for (unsigned i = 0; i < 100; i++) {
		*passed += 10 * KIB * (help ? with : without);
		*ms += 10;
		help = fm_pace_helps(p, *passed, *ms);
		n += help;
	}
	return n;
}

/* It is looked at, and then helped for good. */
static void one_that_waits_is_helped(void **state)
{
	const unsigned turns = fm_tune.streams_pace_ms / 10;
	uint64_t passed = 8192 * KIB, ms = 12345;
	struct fm_pace p = { 0 };

	assert_int_equal(helped(&p, &passed, &ms, 800, 25), 100 - turns);
	assert_int_equal(helped(&p, &passed, &ms, 800, 25), 100);
}

/* It is cached, or computes. */
static void one_that_does_not_is_tried(void **state)
{
	const unsigned turns = fm_tune.streams_pace_ms / 10;
	uint64_t passed = 8192 * KIB, ms = 12345;
	struct fm_pace p = { 0 };

	assert_int_equal(helped(&p, &passed, &ms, 600, 500), turns);
	assert_int_equal(helped(&p, &passed, &ms, 600, 500), 0);
}

/* It has come less far: it has begun anew. */
static void another_is_tried_anew(void **state)
{
	uint64_t passed = 8192 * KIB, ms = 12345;
	struct fm_pace p = { 0 };

	helped(&p, &passed, &ms, 500, 500);
	passed = 0;
	assert_true(helped(&p, &passed, &ms, 500, 100) > 50);
}

FM_UNIT(pace)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_that_waits_is_helped),
		cmocka_unit_test(one_that_does_not_is_tried),
		cmocka_unit_test(another_is_tried_anew),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
