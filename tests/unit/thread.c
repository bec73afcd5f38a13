/* SPDX-License-Identifier: MIT */
/* A thread of ours that takes the place of one that has ended finds its
 * thread-local variables as they are at the start, in memory that is locked,
 * too. An order reaches who polls for ever, also from one that has another
 * table of descriptors, and who is made meanwhile. */
#include "unit.h"

#include <linux/close_range.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/sys.h"
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

/* ---- orders -------------------------------------------------------------- */

#define ORDER 1000u
#define SOON_MS 1000

static _Atomic int polls, left = -1, took_ms;
static _Atomic bool stop;

static void *polls_for_ever(void *arg)
{
	struct pollfd p[1];

	atomic_store(&polls, 1);
	while (!atomic_load(&stop))
		fm_thread_poll(p, 0, -1);
	return NULL;
}

static void *gives_orders(void *arg)
{
	uint64_t begin = fm_now_ms();

	if (arg) {
		close_range(0, ~0u, CLOSE_RANGE_UNSHARE);
		fm_thread_fds_leave();
	}
	atomic_store(&left,
		     fm_thread_order(ORDER + (unsigned)atomic_load(&ended)));
	atomic_store(&took_ms, (int)(fm_now_ms() - begin));
	atomic_fetch_add(&ended, 1);
	return NULL;
}

static void order_from(void *arg)
{
	int want = atomic_load(&ended) + 1;

	usleep(50000); /* until who polls does so again */
	assert_int_equal(fm_thread_create(gives_orders, arg), 0);
	while (atomic_load(&ended) < want)
		usleep(100);
	assert_int_equal(atomic_load(&left), 0);
	assert_true(atomic_load(&took_ms) < SOON_MS);
}

static void test_ordered(void **state)
{
	static char another;

	if (geteuid())
		skip();
	fm_thread_will_poll();
	assert_int_equal(fm_thread_create(polls_for_ever, NULL), 0);
	while (!atomic_load(&polls))
		usleep(100);
	order_from(NULL);
	order_from(&another);
	atomic_store(&stop, true);
	assert_true(fm_thread_end_all(SOON_MS));
}

/* ---- who is made meanwhile ----------------------------------------------- */

static _Atomic int obeyed;

static void thread_obeyed(void)
{
	atomic_fetch_add(&obeyed, 1);
}

FM_UP(thread_ordered, thread_obeyed)

static void *obeys(void *arg)
{
	for (;;)
		fm_thread_sleep_ms(1);
	return arg;
}

static void *makes_one_first(void *arg)
{
	while (!atomic_load(&obeyed))
		usleep(100);
	fm_thread_create(obeys, NULL);
	return obeys(arg);
}

/* By one of ours that has not heard the order: it has what that one has. */
static void test_made_meanwhile(void **state)
{
	if (geteuid())
		skip();
	atomic_store(&obeyed, 0);
	assert_int_equal(fm_thread_create(makes_one_first, NULL), 0);
	order_from(NULL);
	assert_int_equal(atomic_load(&obeyed), 3);
	assert_true(fm_thread_end_all(SOON_MS));
}

FM_UNIT(thread)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_used_again),
		cmocka_unit_test(test_locked),
		cmocka_unit_test(test_ordered),
		cmocka_unit_test(test_made_meanwhile),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
