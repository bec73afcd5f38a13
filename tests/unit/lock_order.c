/* SPDX-License-Identifier: MIT */
/* What the assertion of the lock order lets pass, and what it ends. Without
 * it (meson option lock_check) there is only the order itself to test. */
#include "unit.h"

#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/lock.h"
#include "base/types.h"
#include "file/file.h"
#include "file/page.h"

static struct fm_lock space = FM_LOCK(FM_RANK_SPACE);
static struct fm_lock ring = FM_LOCK(FM_RANK_RING);
static struct fm_lock table;
static struct fm_lock leaf = FM_LOCK(FM_RANK_LEAF);
static struct fm_file file;
static _Atomic uint8_t *page;

static void ascending(void)
{
	fm_lock(&space);
	fm_page_lock(&page[3]);
	fm_page_lock(&page[4]);
	fm_page_lock(&page[9]);
	fm_lock(&ring);
	fm_lock(&table);
	fm_lock(&leaf);
	fm_unlock(&space);
	fm_unlock(&leaf);
	fm_unlock(&table);
	fm_unlock(&ring);
	fm_page_unlock(&page[4]);
	fm_page_unlock(&page[3]);
	fm_page_unlock(&page[9]);
	fm_page_lock(&page[1]);
	fm_page_unlock(&page[1]);
}

static void tried(void)
{
	fm_page_lock(&page[3]);
	fm_lock(&table);
	assert_true(fm_trylock(&space));
	assert_true(fm_page_trylock(&page[2]));
	assert_false(fm_page_trylock(&page[3]));
	fm_page_unlock(&page[2]);
	fm_unlock(&space);
	fm_unlock(&table);
	fm_page_unlock(&page[3]);
}

#ifdef FM_LOCK_CHECK

static void tables(void)
{
	static struct fm_lock other_table;

	fm_lock(&table);
	fm_lock(&other_table);
}

static void space_in_page(void)
{
	fm_page_lock(&page[3]);
	fm_lock(&space);
}

static void page_in_ring(void)
{
	fm_lock(&ring);
	fm_page_lock(&page[3]);
}

static void lower_page(void)
{
	fm_page_lock(&page[3]);
	fm_page_lock(&page[4]);
	fm_page_lock(&page[5]);
	fm_page_unlock(&page[4]); /* out of the middle */
	fm_page_lock(&page[4]);
}

static void wait_in_page(void)
{
	fm_page_lock(&page[3]);
	fm_page_wait(&page[2], FP_WB);
}

static void not_held(void)
{
	fm_page_unlock(&page[7]);
}

#endif

/* How a child that does this ends, and what it says. */
static int end_of(void (*what)(void), char *said, size_t size)
{
	int status, out[2];
	ssize_t n;
	pid_t pid;

	assert_int_equal(pipe(out), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0) {
		dup2(out[1], 2);
		what();
		_exit(0);
	}
	close(out[1]);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	n = read(out[0], said, size - 1);
	said[n > 0 ? n : 0] = 0;
	close(out[0]);
	return status;
}

static void test_in_order(void **state)
{
	char said[256];

	(void)state;
	assert_int_equal(end_of(ascending, said, sizeof(said)), 0);
	assert_string_equal(said, "");
	assert_int_equal(end_of(tried, said, sizeof(said)), 0);
	assert_string_equal(said, "");
}

#ifdef FM_LOCK_CHECK
static void test_out_of_order(void **state)
{
	static const struct {
		void (*what)(void);
		const char *lock, *held;
	} bad[] = {
		{ tables, "table", "holding table" },
		{ space_in_page, "space", "holding page" },
		{ page_in_ring, "page", "holding ring" },
		{ lower_page, "page", "holding page" },
		{ wait_in_page, "page", "holding page" },
		{ not_held, "page", "without being held" },
	};
	char said[256];

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(*bad); i++) {
		int status = end_of(bad[i].what, said, sizeof(said));

		assert_true(WIFSIGNALED(status));
		assert_int_equal(WTERMSIG(status), SIGABRT);
		assert_non_null(strstr(said, bad[i].lock));
		assert_non_null(strstr(said, bad[i].held));
		assert_ptr_equal(strchr(said, '\n'), said + strlen(said) - 1);
	}
}
#endif

static int setup(void **state)
{
	static _Atomic(struct fm_leaf *) leaves[FM_LEAVES];

	(void)state;
	file.leaf = leaves;
	if (fm_file_grow_leaves(&file, 0, 16))
		return -1;
	page = fm_file_page(&file, 0);
	return 0;
}

FM_UNIT(lock_order)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_in_order),
#ifdef FM_LOCK_CHECK
		cmocka_unit_test(test_out_of_order),
#endif
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
