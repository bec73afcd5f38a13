/* SPDX-License-Identifier: MIT */
/* M29, M30, U05, L02: limits of the process. Each in a child that maps after
 * it has lowered the limit. */
/* not engaged: the children that map run under limits too low for an engine */
#include "ct.h"

#include <sys/resource.h>

static int fd;

static void limit(int what, rlim_t value)
{
	struct rlimit r = { value, value };

	if (setrlimit(what, &r))
		ct_die("setrlimit");
}

static void address_space(void)
{
	char *p;

	limit(RLIMIT_AS, 64ul << 20);
	say_map("M29 RLIMIT_AS 1 GiB",
		mmap(NULL, 1ul << 30, RW, MAP_SHARED, fd, 0));
	p = mmap(NULL, 8 * PAGE, RW, MAP_SHARED, fd, 0);
	say_map("M29 RLIMIT_AS small", p);
	if (p != MAP_FAILED)
		say("M29 content: %d", ct_matches(p, 8 * PAGE, 0));
}

static void data_limit(void)
{
	char *p;

	limit(RLIMIT_DATA, 32ul << 20);
	p = mmap(NULL, 256ul << 20, RW, MAP_SHARED, fd, 0);
	say_map("M29 RLIMIT_DATA, shared mappings do not count", p);
	if (p != MAP_FAILED)
		say("M29 content: %d", ct_matches(p, 8 * PAGE, 0));
	say_map("M29 RLIMIT_DATA, private writable ones do",
		mmap(NULL, 256ul << 20, RW, MAP_PRIVATE, fd, 0));
}

/* Many one-page mappings that cannot merge, until the count is used up. */
static void map_count(void)
{
	size_t n = 40000;
	char *p = ct_map(fd, 2 * n * PAGE, PROT_READ, MAP_SHARED, 0);
	size_t split = 0;

	while (split < n && !munmap(p + (2 * split + 1) * PAGE, PAGE))
		split++;
	say("U05 all splits done: %d", split == n);
	p = ct_map(fd, 2 * n * PAGE, PROT_READ, MAP_SHARED, 0);
	for (split = 0; split < n; split++)
		if (munmap(p + (2 * split + 1) * PAGE, PAGE))
			break;
	say("U05 out of mappings: %d %s", split < n, ct_errno(split < n));
	say("U05 head still there: %d", ct_load(p) == ct_byte(0));
}

static void lock_future(void)
{
	limit(RLIMIT_MEMLOCK, 64 * 1024);
	if (geteuid() == 0 && setuid(65534))
		ct_die("setuid");
	say_rc("M30 mlockall", mlockall(MCL_FUTURE));
	say_map("M30 mmap above RLIMIT_MEMLOCK",
		mmap(NULL, 1 << 20, PROT_READ, MAP_SHARED, fd, 0));
}

static void lock_limit(void)
{
	char *p;

	limit(RLIMIT_MEMLOCK, 4 * PAGE);
	if (geteuid() == 0 && setuid(65534))
		ct_die("setuid");
	p = ct_map(fd, 8 * PAGE, PROT_READ, MAP_SHARED, 0);
	say_rc("L02 mlock of 8 pages, limit 4", mlock(p, 8 * PAGE));
	say_rc("L02 mlock of 2 pages, limit 4", mlock(p, 2 * PAGE));
	say_rc("L02 munlock", munlock(p, 2 * PAGE));
	limit(RLIMIT_MEMLOCK, 0);
	say_rc("L02 mlock, limit 0", mlock(p, PAGE));
	say_map("L02 MAP_LOCKED, limit 0",
		mmap(NULL, PAGE, PROT_READ, MAP_SHARED | MAP_LOCKED, fd, 0));
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	fd = ct_file("f", 8 * PAGE);
	if (ftruncate(fd, 1 << 30) || fchmod(fd, 0666))
		ct_die("ftruncate");
	say_child("M29 address space", address_space);
	say_child("M29 data", data_limit);
	say_child("M30", lock_future);
	say_child("L02", lock_limit);
	say_child("U05", map_count);
	return 0;
}
