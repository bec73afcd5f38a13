/* SPDX-License-Identifier: MIT */
/* fm_sys_clear: what is cleared is zero, what lies beside it stays, and whole
 * pages take no memory afterwards. */
#include "unit.h"

#include <string.h>

#include "base/sys.h"

#define PAGE 4096u
#define BEGIN 100u /* bytes of the first page that stay */
#define LEN (4 * PAGE)

static _Alignas(PAGE) unsigned char table[6 * PAGE];

static void each_is_clear(void)
{
	for (unsigned i = 0; i < sizeof(table); i++)
		assert_int_equal(table[i], i < BEGIN || i >= BEGIN + LEN);
}

static void test_gives_pages_back(void **state)
{
	unsigned char there[6];

	memset(table, 1, sizeof(table));
	fm_sys_clear(table + BEGIN, LEN);
	assert_int_equal(mincore(table, sizeof(table), there), 0);
	assert_true(there[0] & there[4] & there[5] & 1);
	assert_false((there[1] | there[2] | there[3]) & 1);
	each_is_clear();
}

static void test_locked(void **state)
{
	memset(table, 1, sizeof(table));
	if (mlock(table, sizeof(table)))
		skip();
	fm_sys_clear(table + BEGIN, LEN);
	munlock(table, sizeof(table));
	each_is_clear();
}

static void test_confined(void **state)
{
	memset(table, 1, sizeof(table));
	fm_sys_confine(1);
	fm_sys_clear(table + BEGIN, LEN);
	fm_sys_confine(-1);
	each_is_clear();
}

static void test_within_a_page(void **state)
{
	memset(table, 1, sizeof(table));
	fm_sys_clear(table + 5, 10);
	assert_int_equal(table[4], 1);
	assert_int_equal(table[5], 0);
	assert_int_equal(table[14], 0);
	assert_int_equal(table[15], 1);
	fm_sys_clear(table + PAGE, 0);
	assert_int_equal(table[PAGE], 1);
}

FM_UNIT(clear)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_gives_pages_back),
		cmocka_unit_test(test_locked),
		cmocka_unit_test(test_confined),
		cmocka_unit_test(test_within_a_page),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
