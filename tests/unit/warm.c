/* SPDX-License-Identifier: MIT */
/* Which mappings of cached files are left to the kernel. */
#include "unit.h"

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

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_cached_file_is_enough),
		cmocka_unit_test(a_small_part_decides_nothing),
		cmocka_unit_test(a_file_that_is_being_made_is_not),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
