/* SPDX-License-Identifier: MIT */
/* What processes of a family tell each other of files, and of children. */
#include "unit.h"

#include <sys/wait.h>
#include <unistd.h>

#include "advise/family.h"
#include "base/sys.h"

#define SOON_US 30000

static void without_it_each_knows_its_own(void **state)
{
	unsigned slot;

	assert_int_equal(fm_family_lean(1, 2, 40, 100), 40);
	assert_true(fm_family_child_starts(&slot));
	fm_family_child_lives(slot);
}

static int64_t lean_of_child(int64_t more)
{
	const pid_t pid = fork();
	int status;

	if (!pid)
		_exit((int)fm_family_lean(1, 2, more, 100));
	waitpid(pid, &status, 0);
	return WEXITSTATUS(status);
}

static void all_of_them_add_up(void **state)
{
	fm_family_start();
	assert_int_equal(fm_family_lean(1, 2, 0, 100), 0);
	assert_int_equal(fm_family_lean(1, 3, 60, 100), 60);
	assert_int_equal(lean_of_child(80), 80);
	assert_int_equal(lean_of_child(60), 100);
	assert_int_equal(fm_family_lean(1, 2, -10, 100), 90);
	fm_family_leans(1, 2, 0);
	assert_int_equal(fm_family_lean(1, 2, 0, 100), 0);
}

/* All workers that are forked at once have a thread; once children turn out to
 * be short-lived, one a second has. */
static void short_lived_children_have_none(void **state)
{
	unsigned slot;

	for (int k = 0; k < 40; k++)
		assert_true(fm_family_child_starts(&slot));
	fm_sys_sleep_us(SOON_US);
	assert_true(fm_family_child_starts(&slot)); /* is it still so? */
	for (int k = 0; k < 40; k++)
		assert_false(fm_family_child_starts(&slot));
}

static void one_that_lives_is_enough(void **state)
{
	unsigned slot, first;

	fm_sys_sleep_us(1100000);
	assert_true(fm_family_child_starts(&first));
	fm_sys_sleep_us(SOON_US);
	fm_family_child_lives(first);
	for (int k = 0; k < 7; k++)
		assert_true(fm_family_child_starts(&slot));
}

FM_UNIT(family)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_it_each_knows_its_own),
		cmocka_unit_test(all_of_them_add_up),
		cmocka_unit_test(short_lived_children_have_none),
		cmocka_unit_test(one_that_lives_is_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
