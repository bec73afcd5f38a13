/* SPDX-License-Identifier: MIT */
/* kernel_windows.h - which windows of a file that is mapped piece by piece are
 * the kernel's, and what is read for them. */
#include "unit.h"

#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file_part.h"
#include "file/file.h"
#include "mmap/kernel_windows.h"
#include "mmap/pagecache_probe.h"
#include "policy.h"

#define SIZE ((size_t)1 << 20)

static struct fm_policy policy = { .warm = FM_WARM_AUTO };
static struct stat st;
static int fd;
static bool tells; /* the kernel what is cached, and lets go of it */

/* Of which nothing is in the page cache. */
static int setup(void **state)
{
	char name[] = "/var/tmp/fm_windows.XXXXXX", *buf = calloc(1, SIZE);

	fd = mkstemp(name);
	if (fd < 0 || !buf || write(fd, buf, SIZE) != (ssize_t)SIZE ||
	    fsync(fd) || fstat(fd, &st))
		return -1;
	tells = fm_pagecache_window(fd, &st, 0, SIZE);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	tells = tells && !fm_pagecache_window(fd, &st, 0, SIZE);
	free(buf);
	unlink(name);
	fm_policy_load("windows", (char *[]){ NULL });
	return 0;
}

static struct fm_file *anew(void)
{
	static struct fm_file *f;

	fm_free(f);
	f = fm_file_alloc();
	f->policy = &policy;
	return f;
}

static bool may(struct fm_file *f, bool stores, off_t off, size_t len,
		enum fm_bring want)
{
	enum fm_bring bring = FM_BRING_NOTHING;
	bool ret = fm_kernel_windows_may(f, stores, fd, &st, off, len, &bring);

	assert_int_equal(bring, want);
	return ret;
}

static void long_ones_are_read_whole(void **state)
{
	struct fm_file *f = anew();

	if (!tells)
		skip();
	assert_false(may(f, false, 0, 65536, FM_BRING_NOTHING));
	atomic_store(&f->by_pieces, true);
	assert_true(may(f, false, 0, 65536, FM_BRING_AROUND));
	f->windows->tried = UINT64_MAX / 2; /* a part of the room is full */
	assert_true(may(f, false, 0, 65536, FM_BRING_WINDOW));
	assert_false(may(f, true, 0, 65536, FM_BRING_NOTHING));
	assert_false(may(f, false, 0, 4096, FM_BRING_NOTHING));
	f->windows->bring = true;
	f->windows->next_look = UINT64_MAX; /* not asked again */
	assert_true(may(f, false, 0, 65536, FM_BRING_AROUND));
	assert_false(may(f, false, 0, 4096, FM_BRING_AROUND));
}

/* The kernel may have many of the next ones, and this one tells whether they
 * are touched; not where somebody stores. */
static void untouched_ones_are_granted(void **state)
{
	struct fm_file *f = anew();

	if (!tells)
		skip();
	atomic_store(&f->by_pieces, true);
	f->idle = 100;
	f->windows->bring = true;
	f->windows->next_look = UINT64_MAX; /* not asked again */
	atomic_store(&f->stores_wanted, true);
	assert_false(may(f, false, 0, 4096, FM_BRING_AROUND));
	assert_int_equal(atomic_load(&f->windows->grants), 0);
	atomic_store(&f->stores_wanted, false);
	assert_false(may(f, false, 0, 4096, FM_BRING_NOTHING));
	assert_int_equal(atomic_load(&f->windows->grants), 63);
	assert_int_equal(fm_kernel_windows_note(f), 1); /* none used */
	assert_int_equal(atomic_load(&f->windows->grants), 0);
}

static void cached_ones_need_nothing(void **state)
{
	struct fm_file *f = anew();
	char page[4096];

	if (!tells)
		skip();
	atomic_store(&f->by_pieces, true);
	assert_int_equal(pread(fd, page, sizeof(page), SIZE - sizeof(page)),
			 sizeof(page));
	assert_true(may(f, false, SIZE - sizeof(page), sizeof(page),
			FM_BRING_NOTHING));
}

FM_UNIT(windows)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(long_ones_are_read_whole),
		cmocka_unit_test(untouched_ones_are_granted),
		cmocka_unit_test(cached_ones_need_nothing),
	};

	return cmocka_run_group_tests_name("windows", tests, setup, NULL);
}
