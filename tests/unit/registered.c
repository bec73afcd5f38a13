/* SPDX-License-Identifier: MIT */
/* map/uffd.h: what has been put in place of registered memory is told apart, by
 * a question that does nothing to its pages. */
#include "unit.h"

#include <string.h>
#include <sys/mman.h>

#include "base/sys.h"
#include "map/map.h"

#define N 8

static bool can;
static char *mem;

static int setup(void **state)
{
	struct fm_uffd_caps c = { 0 };

	can = fm_uffd_open(true, &c) == 0;
	if (!can)
		print_message("no userfaultfd\n");
	return 0;
}

static char *map(void *at, uint64_t pages, int flags)
{
	return mmap(at, pages * FM_PAGE, PROT_READ | PROT_WRITE,
		    MAP_PRIVATE | MAP_ANONYMOUS | flags, -1, 0);
}

static int each(void **state)
{
	static char page[FM_PAGE];

	if (!can)
		return 0;
	mem = map(NULL, N, 0);
	memset(page, 7, FM_PAGE);
	if (mem == MAP_FAILED || fm_uffd_register(mem, N * FM_PAGE))
		return -1;
	for (size_t i = 0; i < N; i++)
		if (fm_uffd_copy(mem + i * FM_PAGE, page, FM_PAGE, true) !=
		    (long)FM_PAGE)
			return -1;
	return 0;
}

static int end(void **state)
{
	return can ? munmap(mem, N * FM_PAGE) : 0;
}

static void whole(void **state)
{
	if (!can)
		skip();
	assert_true(fm_uffd_has(mem, N * FM_PAGE));
	assert_true(fm_uffd_has(mem + FM_PAGE, 100));
	assert_true(fm_uffd_has(mem + FM_PAGE - 1, 2));
	for (size_t i = 0; i < N; i++)
		assert_int_equal(mem[i * FM_PAGE], 7);
}

/* A program's own mprotect makes two of one. */
static void in_parts(void **state)
{
	if (!can)
		skip();
	mprotect(mem + 2 * FM_PAGE, FM_PAGE, PROT_READ);
	assert_true(fm_uffd_has(mem, N * FM_PAGE));
	assert_int_equal(mem[2 * FM_PAGE], 7);
}

static void replaced(void **state)
{
	if (!can)
		skip();
	map(mem + 3 * FM_PAGE, 1, MAP_FIXED);
	assert_false(fm_uffd_has(mem, N * FM_PAGE));
	assert_false(fm_uffd_has(mem + 3 * FM_PAGE, FM_PAGE));
	assert_false(fm_uffd_has(mem + 3 * FM_PAGE - 1, 2));
	assert_true(fm_uffd_has(mem, 3 * FM_PAGE));
	assert_true(fm_uffd_has(mem + 4 * FM_PAGE, 4 * FM_PAGE));
}

static void unmapped(void **state)
{
	if (!can)
		skip();
	munmap(mem + (N - 1) * FM_PAGE, FM_PAGE);
	assert_false(fm_uffd_has(mem, N * FM_PAGE));
	assert_true(fm_uffd_has(mem, (N - 1) * FM_PAGE));
}

FM_UNIT(registered)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(whole, each, end),
		cmocka_unit_test_setup_teardown(in_parts, each, end),
		cmocka_unit_test_setup_teardown(replaced, each, end),
		cmocka_unit_test_setup_teardown(unmapped, each, end),
	};

	return cmocka_run_group_tests(tests, setup, NULL);
}
