/* SPDX-License-Identifier: MIT */
/* Who waits for an event is woken, whoever raises it and when. */
#include "unit.h"

#include <pthread.h>

#include "base/event.h"

#define WAITERS 8
#define RAISERS 4
#define TOKENS 10000 /* by each who raises */

static struct fm_event e;
static _Atomic int tokens, taken;

static bool take(void)
{
	int n = atomic_load(&tokens);

	while (n > 0)
		if (atomic_compare_exchange_weak(&tokens, &n, n - 1))
			return true;
	return false;
}

static void *waiter(void *arg)
{
	const int each = RAISERS * TOKENS / WAITERS;

	for (int k = 0; k < each;) {
		uint32_t seen = fm_event_seen(&e);

		if (!take()) {
			fm_event_wait(&e, seen);
			continue;
		}
		k++;
		atomic_fetch_add(&taken, 1);
	}
	return arg;
}

static void *raiser(void *arg)
{
	for (int k = 0; k < TOKENS; k++) {
		atomic_fetch_add(&tokens, 1);
		fm_event_raise(&e);
		while (atomic_load(&tokens)) /* mostly they sleep */
			fm_sys0(SYS_sched_yield);
	}
	return arg;
}

/* A pool: what is put back wakes one. A lost one would hang. */
static void none_is_lost(void **state)
{
	pthread_t w[WAITERS], r[RAISERS];

	for (int i = 0; i < WAITERS; i++)
		assert_int_equal(pthread_create(&w[i], NULL, waiter, NULL), 0);
	for (int i = 0; i < RAISERS; i++)
		assert_int_equal(pthread_create(&r[i], NULL, raiser, NULL), 0);
	for (int i = 0; i < RAISERS; i++)
		pthread_join(r[i], NULL);
	for (int i = 0; i < WAITERS; i++)
		pthread_join(w[i], NULL);
	assert_int_equal(taken, RAISERS * TOKENS);
}

/* Raised between the look and the wait: it does not sleep. */
static void raised_before(void **state)
{
	const struct timespec long_time = { 10, 0 };
	uint32_t seen = fm_event_seen(&e);

	fm_event_raise(&e);
	assert_int_equal(fm_event_wait_alone(&e, seen, &long_time), -EAGAIN);
	assert_false(fm_event_waited(&e));
}

/* Whoever has waited alone leaves no mark behind. */
static void alone_leaves_no_mark(void **state)
{
	const struct timespec ms = { 0, 1000000 };

	for (int k = 0; k < 3; k++)
		assert_int_equal(fm_event_wait_alone(&e, fm_event_seen(&e),
						     &ms), -ETIMEDOUT);
	assert_false(fm_event_waited(&e));
}

static void *sleeper(void *arg)
{
	fm_event_wait(&e, fm_event_seen(&e));
	return arg;
}

/* One sleeper is woken once, and is no sleeper from then on, whether or not he
 * has run. */
static void woken_once(void **state)
{
	pthread_t t;

	fm_event_reset(&e);
	assert_int_equal(pthread_create(&t, NULL, sleeper, NULL), 0);
	while (!fm_event_waited(&e))
		fm_sys_sleep_us(1000);
	fm_event_raise(&e);
	assert_false(fm_event_waited(&e));
	pthread_join(t, NULL);
}

FM_UNIT(event)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(none_is_lost),
		cmocka_unit_test(alone_leaves_no_mark),
		cmocka_unit_test(raised_before),
		cmocka_unit_test(woken_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
