/* SPDX-License-Identifier: MIT */
/* Who has a file open, as far as events tell. */
#include "unit.h"

#include <sys/wait.h>
#include <unistd.h>

#include "peers/openers.h"

static struct fm_openers o;

static int empty(void **state)
{
	fm_openers_forget(&o);
	return 0;
}

static int ended(void)
{
	pid_t pid = fork();

	if (!pid)
		_exit(0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	return pid;
}

/* Children of fork that map a file have it closed by another process, and end:
 * no matter how many there were, nobody is left. */
static void who_has_ended_is_nobody(void **state)
{
	for (int i = 0; i < 3 * FM_OPENERS; i++)
		fm_openers_opened(&o, ended());
	assert_false(fm_openers_hidden(&o));
	assert_false(fm_openers_unnamed(&o));
}

static void more_than_can_be_noted_are_a_crowd(void **state)
{
	int pids[FM_OPENERS], children[FM_OPENERS + 1];

	for (int i = 0; i <= FM_OPENERS; i++) {
		children[i] = fork();
		if (!children[i])
			pause();
		fm_openers_opened(&o, children[i]);
	}
	assert_true(fm_openers_unnamed(&o));
	assert_int_equal(fm_openers_pids(&o, pids), 0);
	for (int i = 0; i <= FM_OPENERS; i++) {
		kill(children[i], SIGKILL);
		waitpid(children[i], NULL, 0);
	}
}

static void a_close_takes_back_one_open_of_its_process(void **state)
{
	int pids[FM_OPENERS];

	fm_openers_closed(&o, 1);
	fm_openers_opened(&o, 0);
	assert_true(fm_openers_unnamed(&o));
	fm_openers_closed(&o, getpid());
	assert_true(fm_openers_unnamed(&o));
	fm_openers_closed(&o, 0);
	assert_false(fm_openers_unnamed(&o));
	fm_openers_opened(&o, getpid());
	fm_openers_opened(&o, getpid());
	assert_int_equal(fm_openers_pids(&o, pids), 1);
	assert_int_equal(pids[0], getpid());
	assert_false(fm_openers_hidden(&o));
}

FM_UNIT(openers)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(who_has_ended_is_nobody, empty),
		cmocka_unit_test_setup(more_than_can_be_noted_are_a_crowd,
				       empty),
		cmocka_unit_test_setup(
			a_close_takes_back_one_open_of_its_process, empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
