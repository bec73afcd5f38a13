/* SPDX-License-Identifier: MIT */
/* alloc.h - no memory for the very first allocation: nobody waits for who could
 * not begin. */
#include "unit.h"

#include <pthread.h>
#include <sys/resource.h>
#include <unistd.h>

#include "base/alloc.h"

static pthread_barrier_t turn;
static void *got[2];

static void *other(void *arg)
{
	for (int i = 0; i < 2; i++) {
		pthread_barrier_wait(&turn);
		got[i] = fm_alloc(17);
		pthread_barrier_wait(&turn);
	}
	return NULL;
}

static void limit_data(rlim_t to)
{
	struct rlimit r;

	getrlimit(RLIMIT_DATA, &r);
	r.rlim_cur = to;
	assert_int_equal(setrlimit(RLIMIT_DATA, &r), 0);
}

static void who_could_not_begin_holds_up_nobody(void **state)
{
	pthread_t t;
	void *p;

	alarm(60);
	pthread_barrier_init(&turn, NULL, 2);
	pthread_create(&t, NULL, other, NULL);
	limit_data(0);
	p = fm_alloc(17);
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn);
	limit_data(RLIM_INFINITY);
	if (!p) { /* a sanitizer's allocator has some */
		assert_null(got[0]);
		p = fm_alloc(17);
	}
	assert_non_null(p);
	pthread_barrier_wait(&turn);
	pthread_barrier_wait(&turn);
	assert_non_null(got[1]);
	pthread_join(t, NULL);
	for (int i = 0; i < 2; i++)
		if (got[i])
			fm_free(got[i]);
	fm_free(p);
}

FM_UNIT(starved)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_could_not_begin_holds_up_nobody),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
