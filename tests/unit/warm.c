/* SPDX-License-Identifier: MIT */
/* Which mappings of cached files are left to the kernel. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "mmap/pagecache_probe.h"
#include "policy.h"

#define MIB ((uint64_t)1 << 20)

static char path[64];

/* A file whose pages have just been written: all of them are cached. */
static int cached_file(uint64_t size, struct stat *st)
{
	char *bytes = calloc(1, size);
	int fd;

	snprintf(path, sizeof(path), "/var/tmp/fastmap-warm.XXXXXX");
	fd = mkstemp(path);
	assert_true(fd >= 0 && bytes);
	unlink(path);
	assert_true(write(fd, bytes, size) == (ssize_t)size);
	free(bytes);
	assert_false(fstat(fd, st));
	return fd;
}

static bool enough(uint64_t size, uint64_t off, uint64_t len, enum fm_warm warm)
{
	const struct fm_policy p = { .warm = warm };
	struct stat st;
	int fd = cached_file(size, &st);
	bool yes;

	if (!fm_pagecache_pages(fd, &st)) {
		close(fd);
		print_message("SKIP: this kernel has no cachestat\n");
		skip();
	}
	yes = fm_pagecache_enough(fd, &st, off, len, &p);
	close(fd);
	return yes;
}

static void a_cached_file_is_enough(void **state)
{
	assert_true(enough(2 * MIB, 0, 2 * MIB, FM_WARM_AUTO));
	assert_true(enough(2 * MIB, 0, 64 * MIB, FM_WARM_AUTO));
	assert_true(enough(2 * MIB, MIB, MIB, FM_WARM_AUTO));
	assert_false(enough(2 * MIB, 0, 2 * MIB, FM_WARM_ENGINE));
}

static void a_small_part_decides_nothing(void **state)
{
	assert_false(enough(4 * MIB, 0, MIB / 8, FM_WARM_AUTO));
}

static void a_file_that_is_being_made_is_not(void **state)
{
	assert_false(enough(8192, 0, 64 * MIB, FM_WARM_AUTO));
	assert_true(enough(8192, 0, 64 * MIB, FM_WARM_KERNEL));
	assert_true(enough(8192, 0, 8192, FM_WARM_AUTO));
	assert_true(enough(MIB, 0, 64 * MIB, FM_WARM_AUTO));
}

static bool enough_for_nobody(int fd)
{
	const struct fm_policy p = { .warm = FM_WARM_AUTO };
	struct stat st;
	bool yes;

	assert_false(fstat(fd, &st));
	assert_false(seteuid(65534));
	yes = fm_pagecache_enough(fd, &st, 0, 2 * MIB, &p);
	assert_false(seteuid(0));
	return yes;
}

/* Nothing of it is cached. So a look finds, but where each of its reads was
 * done before the call had ended: a device may be so fast. */
static bool found_uncached(int rw, int fd, const struct stat *st)
{
	assert_false(fsync(rw));
	assert_false(posix_fadvise(rw, 0, 0, POSIX_FADV_DONTNEED));
	/* no more than the look asks for */
	assert_false(posix_fadvise(fd, 0, 0, POSIX_FADV_RANDOM));
	return !fm_pagecache_pages(rw, st) && enough_for_nobody(fd);
}

/* Who may only read a file is not told by cachestat. */
static void whose_the_file_is_does_not_matter(void **state)
{
	bool found = true;
	struct stat st;
	char self[32];
	int rw, fd;

	if (geteuid())
		skip();
	rw = cached_file(2 * MIB, &st);
	fchmod(rw, 0644);
	snprintf(self, sizeof(self), "/proc/self/fd/%d", rw);
	fd = open(self, O_RDONLY);
	assert_true(fd >= 0);
	assert_true(enough_for_nobody(fd));
	for (int i = 0; i < 20 && found; i++)
		found = found_uncached(rw, fd, &st);
	assert_false(found); /* tmpfs keeps all */
	close(rw);
	close(fd);
}

FM_UNIT(warm)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cached_file_is_enough),
		cmocka_unit_test(a_small_part_decides_nothing),
		cmocka_unit_test(a_file_that_is_being_made_is_not),
		cmocka_unit_test(whose_the_file_is_does_not_matter),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
