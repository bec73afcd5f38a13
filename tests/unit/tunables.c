/* SPDX-License-Identifier: MIT */
/* The figures that the engine decides by, and FASTMAP_TUNE. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "policy.h"
#include "tunables.h"

static const struct {
	const char *name, *unit, *reason, *measured;
} told[] = {
#define FM_TUNABLE(room, name, value, unit, least, most, reason, measured) \
	{ #name, unit, reason, measured },
#include "tunables.def"
};

static struct fm_tunables standard;

static const struct fm_tunable *find(const char *name)
{
	for (unsigned i = 0; i < fm_tunable_count; i++)
		if (!strcmp(fm_tunables[i].name, name))
			return &fm_tunables[i];
	fail_msg("no %s", name);
	return NULL;
}

static int begin(void **state)
{
	standard = fm_tune;
	return 0;
}

static int end(void **state)
{
	fm_tune = standard;
	return 0;
}

/* What fm_tunables_set says of it, into a buffer. */
static char said[4096];

static unsigned set(const char *text)
{
	int p[2], old = dup(2);
	unsigned bad;
	ssize_t n;

	assert_int_equal(pipe2(p, O_NONBLOCK), 0);
	dup2(p[1], 2);
	bad = fm_tunables_set(text);
	dup2(old, 2);
	n = read(p[0], said, sizeof(said) - 1);
	said[n > 0 ? n : 0] = 0;
	close(p[0]);
	close(p[1]);
	close(old);
	return bad;
}

static void each_default_lies_in_its_range(void **state)
{
	for (unsigned i = 0; i < fm_tunable_count; i++) {
		const struct fm_tunable *t = &fm_tunables[i];
		const uint64_t v = fm_tunable_value(t);

		if (v < t->least || v > t->most)
			fail_msg("%s is out of its range", t->name);
		if (t->size == 4 && t->most > INT32_MAX)
			fail_msg("%s has no room for its most", t->name);
	}
}

static void each_has_a_unit_and_a_reason(void **state)
{
	for (unsigned i = 0; i < fm_tunable_count; i++)
		if (!*told[i].unit || strlen(told[i].reason) < 10 ||
		    strlen(told[i].measured) < 7)
			fail_msg("%s: unit, reason or measurement missing",
				 told[i].name);
}

static void names_are_unique(void **state)
{
	for (unsigned i = 0; i < fm_tunable_count; i++)
		assert_ptr_equal(find(fm_tunables[i].name), &fm_tunables[i]);
}

static void several_are_set(void **state)
{
	assert_int_equal(set("demand_spin_ns=2K,device_other_part=9,"), 0);
	assert_string_equal(said, "");
	assert_int_equal(fm_tune.demand_spin_ns, 2048);
	assert_int_equal(fm_tune.device_other_part, 9);
}

static void a_double_is_set(void **state)
{
	assert_int_equal(set("device_memory=300"), 0);
	assert_true(fm_tune.device_memory == 300.0);
	assert_int_equal(fm_tunable_value(find("device_memory")), 300);
}

static void out_of_range_stays(void **state)
{
	assert_int_equal(set("device_other_part=0,device_other_part=1001"), 2);
	assert_int_equal(fm_tune.device_other_part, standard.device_other_part);
	assert_non_null(strstr(said, "FASTMAP_TUNE"));
	assert_non_null(strstr(said, "device_other_part=0"));
	assert_non_null(strstr(said, "1 to 1000"));
}

static void unknown_or_no_number_is_told(void **state)
{
	assert_int_equal(set("no_such=1"), 1);
	assert_non_null(strstr(said, "no_such=1"));
	assert_int_equal(set("device_other_part"), 1);
	assert_int_equal(set("device_other_part=much"), 1);
	assert_int_equal(set("device_other_part=-1"), 1);
	assert_int_equal(set("device_other_part=5x"), 1);
	assert_int_equal(fm_tune.device_other_part, standard.device_other_part);
}

static void what_is_good_beside_it_is_taken(void **state)
{
	assert_int_equal(set("no_such=1,device_other_part=9"), 1);
	assert_int_equal(fm_tune.device_other_part, 9);
}

static void a_long_one_is_unknown(void **state)
{
	char text[600];

	memset(text, 'x', sizeof(text) - 1);
	text[sizeof(text) - 1] = 0;
	assert_int_equal(set(text), 1);
}

static void comes_from_the_environment(void **state)
{
	char tune[] = "FASTMAP_TUNE=device_other_part=11";
	char *env[] = { tune, NULL };

	fm_policy_load("program", env);
	assert_int_equal(fm_tune.device_other_part, 11);
}

#define T(name) cmocka_unit_test_setup_teardown(name, begin, end)

FM_UNIT(tunables)
{
	const struct CMUnitTest tests[] = {
		T(each_default_lies_in_its_range),
		T(each_has_a_unit_and_a_reason),
		T(names_are_unique),
		T(several_are_set),
		T(a_double_is_set),
		T(out_of_range_stays),
		T(unknown_or_no_number_is_told),
		T(what_is_good_beside_it_is_taken),
		T(a_long_one_is_unknown),
		T(comes_from_the_environment),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
