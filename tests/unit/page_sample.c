/* SPDX-License-Identifier: MIT */
/* Which pages of a mapping are there. */
#include "map/page_sample.h"

#include <string.h>
#include <sys/mman.h>

#include "base/types.h"
#include "unit.h"

#define PAGES 2000u

/* What has been asked for and dropped is found from both ends. */
static void the_first_that_is_missing(void **state)
{
	char *p = mmap(NULL, PAGES * FM_PAGE, PROT_READ | PROT_WRITE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	const uintptr_t at = (uintptr_t)p;

	assert_true(p != MAP_FAILED);
	madvise(p, PAGES * FM_PAGE, MADV_NOHUGEPAGE);
	assert_int_equal(fm_pages_in_memory(at, PAGES, false), 0);
	memset(p, 1, 1100 * FM_PAGE);
	memset(p + 1200 * FM_PAGE, 1, 800 * FM_PAGE);
	assert_int_equal(fm_pages_in_memory(at, PAGES, false), 1100);
	assert_int_equal(fm_pages_in_memory(at, PAGES, true), 800);
	assert_int_equal(fm_pages_in_memory(at, 1000, false), 1000);
	assert_int_equal(fm_pages_in_memory(at, 1050, true), 1050);
	assert_int_equal(fm_pages_in_memory(at, 0, false), 0);
	munmap(p, PAGES * FM_PAGE);
}

FM_UNIT(page_sample)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_first_that_is_missing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
