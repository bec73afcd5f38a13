/* SPDX-License-Identifier: MIT */
/* first_read.h - what a device has told of itself afterwards. */
#include "unit.h"

#include <fcntl.h>

#include "filled.h"
#include "io/io.h"
#include "readahead/readahead.h"
#include "tunables.h"

#define PAGES 64u
#define AHEAD (4 * FM_PAGE)

static void *mapped(bool cached, struct fm_fetch_run *ret)
{
	char name[] = "/var/tmp/first_read.XXXXXX";
	int fd = filled_file(name, PAGES);
	char *p;

	assert_true(fd >= 0);
	if (!cached)
		posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	p = mmap(NULL, PAGES * FM_PAGE, PROT_READ, MAP_SHARED, fd, 0);
	assert_ptr_not_equal(p, MAP_FAILED);
	close(fd);
	*ret = (struct fm_fetch_run){ (uintptr_t)p,
				      (uintptr_t)p + PAGES * FM_PAGE };
	return p;
}

static void what_is_not_there_tells(void **state)
{
	struct fm_fetch_run r;
	void *p = mapped(false, &r);
	const unsigned before = filled_resident(p, PAGES);
	const uint64_t from = fm_now_ns();

	if (before)
		skip(); /* memory is its device */
	fm_first_read_for(70, r, AHEAD);
	if (fm_now_ns() - from >= (uint64_t)fm_tune.device_longest_ns)
		skip(); /* so late that it is not waited for */
	assert_true(fm_device_has_told(70));
	assert_int_equal(filled_resident(p, PAGES), 2); /* no more was read */
	munmap(p, PAGES * FM_PAGE);
}

static void what_is_there_tells_nothing(void **state)
{
	struct fm_fetch_run r;
	void *p = mapped(true, &r);

	fm_first_read_for(71, r, AHEAD);
	assert_false(fm_device_has_told(71));
	munmap(p, PAGES * FM_PAGE);
}

static void who_ends_waits_for_nothing(void **state)
{
	struct fm_fetch_run r;
	void *p = mapped(false, &r);

	fm_first_read_stop(true);
	fm_first_read_for(72, r, AHEAD);
	fm_first_read_stop(false);
	assert_false(fm_device_has_told(72));
	munmap(p, PAGES * FM_PAGE);
}

/* No such device has a read-ahead that is known. */
static void where_nothing_tells_it_is_tried(void **state)
{
	assert_int_equal(fm_readahead_late(73), FM_LATE_MAYBE);
}

FM_UNIT(first_read)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_not_there_tells),
		cmocka_unit_test(what_is_there_tells_nothing),
		cmocka_unit_test(who_ends_waits_for_nothing),
		cmocka_unit_test(where_nothing_tells_it_is_tried),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
