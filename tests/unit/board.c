/* SPDX-License-Identifier: MIT */
/* What processes of a family tell each other of files, and of children. */
#include "unit.h"

#include "advise/board.h"
#include "base/sys.h"

#define SOON_US 30000

static void without_it_nothing_is_known(void **state)
{
	unsigned slot;

	fm_board_post(1, 2, FM_ADVICE_RANDOM);
	assert_int_equal(fm_board_ask(1, 2), FM_ADVICE_UNKNOWN);
	assert_int_equal(fm_board_single(1, 2), 0);
	assert_true(fm_board_child_starts(&slot));
	fm_board_child_lives(slot);
}

static void what_was_posted_is_found(void **state)
{
	fm_board_start();
	assert_int_equal(fm_board_ask(1, 2), FM_ADVICE_UNKNOWN);
	fm_board_post(1, 2, FM_ADVICE_RANDOM);
	assert_int_equal(fm_board_ask(1, 2), FM_ADVICE_RANDOM);
	assert_int_equal(fm_board_ask(1, 3), FM_ADVICE_UNKNOWN);
	fm_board_post(1, 2, FM_ADVICE_NORMAL);
	assert_int_equal(fm_board_ask(1, 2), FM_ADVICE_NORMAL);
	assert_int_equal(fm_board_single(1, 2), 1);
	assert_int_equal(fm_board_single(1, 2), 2);
	fm_board_row(1, 2);
	assert_int_equal(fm_board_single(1, 2), 1);
}

/* All workers that are forked at once have a thread; once children turn out to
 * be short-lived, one a second has. */
static void short_lived_children_have_none(void **state)
{
	unsigned slot;

	for (int k = 0; k < 40; k++)
		assert_true(fm_board_child_starts(&slot));
	fm_sys_sleep_us(SOON_US);
	assert_true(fm_board_child_starts(&slot)); /* is it still so? */
	for (int k = 0; k < 40; k++)
		assert_false(fm_board_child_starts(&slot));
}

static void one_that_lives_is_enough(void **state)
{
	unsigned slot, first;

	fm_sys_sleep_us(1100000);
	assert_true(fm_board_child_starts(&first));
	fm_sys_sleep_us(SOON_US);
	fm_board_child_lives(first);
	for (int k = 0; k < 7; k++)
		assert_true(fm_board_child_starts(&slot));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(without_it_nothing_is_known),
		cmocka_unit_test(what_was_posted_is_found),
		cmocka_unit_test(short_lived_children_have_none),
		cmocka_unit_test(one_that_lives_is_enough),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
