/* SPDX-License-Identifier: MIT */
/* Who waits for a name that nobody answers keeps nobody else from being asked,
 * and no copy of a descriptor is closed for that. */
#include "unit.h"

#include <pthread.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "base/apart.h"
#include "base/sys.h"
#include "base/thread.h"

#define SILENT 2 /* of them wait at one time */

static _Atomic int waiting, asked, ended;
static _Atomic bool answers;
static char name[16]; /* of the thread that did it */

static void waits(void *arg)
{
	(void)arg;
	atomic_fetch_add(&waiting, 1);
	while (!atomic_load(&answers))
		fm_sys_sleep_us(1000);
}

static void answers_at_once(void *arg)
{
	prctl(PR_GET_NAME, arg);
}

/* A thread of ours, which has the program's descriptors. */
static void *asks_the_silent(void *arg)
{
	fm_apart_from_fds(waits, arg);
	atomic_fetch_add(&ended, 1);
	return arg;
}

static void *asks(void *arg)
{
	fm_apart_from_fds(answers_at_once, name);
	atomic_store(&asked, 1);
	atomic_fetch_add(&ended, 1);
	return arg;
}

static bool becomes(_Atomic int *n, int most)
{
	for (int k = 0; k < 5000 && atomic_load(n) < most; k++)
		usleep(1000);
	return atomic_load(n) >= most;
}

/* The first thread that stays is there when an engine has begun. */
static void begin(void)
{
	for (int k = 0; k < 5000 && strcmp(name, "fastmap-apart"); k++) {
		assert_int_equal(fm_thread_create(asks, NULL), 0);
		assert_true(becomes(&ended, k + 1));
	}
	atomic_store(&asked, 0);
	atomic_store(&ended, 0);
	memset(name, 0, sizeof(name));
}

static void who_waits_is_in_nobodys_way(void **state)
{
	(void)state;
	begin();
	for (int k = 0; k < SILENT; k++) {
		assert_int_equal(fm_thread_create(asks_the_silent, NULL), 0);
		assert_true(becomes(&waiting, k + 1));
	}
	assert_int_equal(fm_thread_create(asks, NULL), 0);
	assert_true(becomes(&asked, 1));
	atomic_store(&answers, true);
	assert_true(becomes(&ended, SILENT + 1));
	assert_string_equal(name, "fastmap-apart");
}

FM_UNIT(apart)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_waits_is_in_nobodys_way),
	};

	return cmocka_run_group_tests_name("apart", tests, NULL, NULL);
}
