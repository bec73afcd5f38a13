/* SPDX-License-Identifier: MIT */
/* L06: memory is locked by bare system call instructions, which nobody hears
 * of: all that is to come, before the first file is mapped and between two, or
 * what is mapped. The memory shows the file all the same, whatever the calls
 * answer. */
#include "ct.h"

#include <sys/resource.h>
#include <sys/syscall.h>

#define N 1536ul /* more than the smallest cache; less than RLIMIT_MEMLOCK */

static void lock_future(void)
{
	if (ct_raw(SYS_mlockall, MCL_FUTURE, 0, 0, 0))
		ct_skip("mlockall is not permitted");
}

/* Read it through the memory, twice, then change it beside that. */
static void say_all(const char *what, char *p, int fd)
{
	size_t first = ct_wrong(p, 0, N), again = ct_wrong(p, 0, N), stale = 0;

	for (size_t i = 0; i < N; i++) {
		char c = (char)i;

		ct_pwrite(fd, &c, 1, (off_t)(i * PAGE + 100));
	}
	for (size_t i = 0; i < N; i++)
		stale += ct_load(p + i * PAGE + 100) != (unsigned char)i;
	for (size_t i = 0; i < N; i++)
		p[i * PAGE + 200] = (char)(i + 1);
	say("L06 %s: wrong %zu, again %zu, stale %zu, msync %s", what, first,
	    again, stale, ct_errno(msync(p, N * PAGE, MS_SYNC) == -1));
	stale = 0;
	for (size_t i = 0; i < N; i++)
		stale += ct_in_file(fd, (off_t)(i * PAGE + 200)) !=
			 (unsigned char)(i + 1);
	say("L06 %s: not in the file %zu", what, stale);
}

static void first(void)
{
	int fd = ct_file("first", N * PAGE);

	lock_future();
	say_all("before the first", ct_map(fd, N * PAGE, RW, MAP_SHARED, 0),
		fd);
}

static void between(void)
{
	int fd = ct_file("one", PAGE), other = ct_file("two", N * PAGE);
	char *p = ct_map(fd, PAGE, RW, MAP_SHARED, 0);

	say("L06 one: %d", ct_matches(p, PAGE, 0));
	lock_future();
	say_all("between", ct_map(other, N * PAGE, RW, MAP_SHARED, 0), other);
	say("L06 one: %d", ct_matches(p, PAGE, 0));
}

static void after(void)
{
	int fd = ct_file("after", N * PAGE);
	char *p = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);

	say("L06 before: %zu", ct_wrong(p, 0, N));
	ct_raw(SYS_mlock, (long)p, (long)(N / 4 * PAGE), 0, 0);
	ct_raw(SYS_mlock2, (long)(p + N / 2 * PAGE), (long)(N / 4 * PAGE),
	       MLOCK_ONFAULT, 0);
	say_all("after", p, fd);
}

/* All that is mapped, and what was let go by the program meanwhile. */
static void all(void)
{
	int fd = ct_file("all", N * PAGE);
	char *p = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);

	if (ct_raw(SYS_mlockall, MCL_CURRENT | MCL_ONFAULT, 0, 0, 0))
		ct_skip("mlockall is not permitted");
	say_all("all", p, fd);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	say_child("L06", after);
	/* Unprivileged, the library's tables count: docs/limits.md. */
	if (!geteuid()) {
		say_child("L06", first);
		say_child("L06", between);
		say_child("L06", all);
	}
	return 0;
}
