/* SPDX-License-Identifier: MIT */
/* A thread of ours that takes the place of one that has ended finds its
 * thread-local variables as they are at the start, in memory that is locked,
 * too. */
#include "unit.h"

#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/thread.h"
#include "engine.h"

static _Thread_local int mark;
static _Atomic int seen, ended;

static void *leaves_a_mark(void *arg)
{
	atomic_fetch_add(&seen, mark);
	mark = 1;
	atomic_fetch_add(&ended, 1);
	return NULL;
}

static void run(int n)
{
	for (int k = 1; k <= n; k++) {
		int want = atomic_load(&ended) + 1;

		assert_int_equal(fm_thread_create(leaves_a_mark, NULL), 0);
		while (atomic_load(&ended) < want || fm_thread_any())
			usleep(100);
	}
}

static void test_used_again(void **state)
{
	run(4);
	assert_int_equal(atomic_load(&seen), 0);
}

static void test_locked(void **state)
{
	if (mlockall(MCL_CURRENT | MCL_FUTURE))
		skip();
	run(4);
	assert_int_equal(atomic_load(&seen), 0);
	munlockall();
}

FM_UNIT(thread)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_used_again),
		cmocka_unit_test(test_locked),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
