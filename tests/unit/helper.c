/* SPDX-License-Identifier: MIT */
/* When the helper thread looks at what is touched. */
#include "unit.h"

#include "../../src/advise/helper.c"

/* Of 8 workers on a disk of 150 reads/s each sees one in 50 ms: while it is not
 * known how they read each is worth a look, and then some in a turn. */
static void one_wait_is_worth_a_look(void **state)
{
	const struct fm_advised_use one = { .faults = 1, .major = 1 };
	const struct fm_advised_use some = { .faults = 4, .major = 4 };

	ranges.guess = true;
	assert_true(worth(&one));
	ranges.opinion.says = FM_ADVICE_NORMAL;
	assert_false(worth(&one));
	assert_true(worth(&some));
	ranges = (struct fm_advised_all){ 0 };
	assert_false(worth(&one));
}

/* Nothing waits: nothing to see. */
static void none_is_not(void **state)
{
	const struct fm_advised_use use = { .faults = 1 };

	ranges.guess = true;
	assert_false(worth(&use));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(one_wait_is_worth_a_look),
		cmocka_unit_test(none_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
