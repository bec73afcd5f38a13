/* SPDX-License-Identifier: MIT */
/* L04: everything is locked, now or from now on. */
#include "ct.h"

#include <sys/resource.h>
#include <sys/syscall.h>

static void say_state(const char *what, char *p, int fd)
{
	unsigned char vec[32];
	int resident = 0;

	say_rc("L04 mincore", mincore(p, 32 * PAGE, vec));
	for (int i = 0; i < 32; i++)
		resident += vec[i] & 1;
	say("L04 %s: resident %d, invalidate %s", what, resident,
	    ct_errno(msync(p, 32 * PAGE, MS_INVALIDATE) == -1));
	say_rc("L04 dontneed", madvise(p, PAGE, MADV_DONTNEED));
	p[3 * PAGE]++;
	say("L04 %s: %d %02x %02x", what,
	    ct_matches(p + 4 * PAGE, 28 * PAGE, 4 * PAGE),
	    ct_load(p + 3 * PAGE), ct_in_file(fd, 3 * PAGE));
}

static void now(void)
{
	int fd = ct_file("now", 64 * PAGE);
	char *p = ct_map(fd, 32 * PAGE, RW, MAP_SHARED, 0), *q;
	char *own = ct_map(fd, 32 * PAGE, RW, MAP_PRIVATE, 0);

	p[0] = 0x31;
	own[PAGE] = 0x32;
	say("L04 before: %d", ct_matches(p + PAGE, 31 * PAGE, PAGE));
	say_rc("L04 bad flags", mlockall(0x80));
	say_rc("L04 no flags", mlockall(0));
	say_rc("L04 only on fault", mlockall(4));
	say_rc("L04 current", mlockall(MCL_CURRENT));
	say_state("current", p, fd);
	say("L04 private: %02x %d", ct_load(own + PAGE),
	    ct_matches(own + 5 * PAGE, 27 * PAGE, 5 * PAGE));
	q = ct_map(fd, 32 * PAGE, RW, MAP_SHARED, 32 * PAGE);
	say("L04 later: invalidate %s, %d",
	    ct_errno(msync(q, 32 * PAGE, MS_INVALIDATE) == -1),
	    ct_matches(q, 32 * PAGE, 32 * PAGE));
	say_rc("L04 munlockall", munlockall());
	say("L04 after: invalidate %s",
	    ct_errno(msync(p, 32 * PAGE, MS_INVALIDATE) == -1));
}

static void future(void)
{
	int fd = ct_file("future", 64 * PAGE),
	    other = ct_file("other", 32 * PAGE);
	char *p = ct_map(fd, 32 * PAGE, RW, MAP_SHARED, 0), *q;

	say("L04 before: %d", ct_matches(p, 32 * PAGE, 0));
	say_rc("L04 future", syscall(SYS_mlockall, MCL_FUTURE));
	say("L04 earlier: invalidate %s",
	    ct_errno(msync(p, 32 * PAGE, MS_INVALIDATE) == -1));
	q = ct_map(other, 32 * PAGE, RW, MAP_SHARED, 0);
	say_state("future", q, other);
	munmap(q, 32 * PAGE);
	say_rc("L04 munlockall", munlockall());
	q = ct_map(other, 32 * PAGE, RW, MAP_SHARED, 0);
	say("L04 again: %s %d",
	    ct_errno(msync(q, 32 * PAGE, MS_INVALIDATE) == -1),
	    ct_matches(q + 4 * PAGE, 28 * PAGE, 4 * PAGE));
}

static void refused(void)
{
	struct rlimit none = { 0, 0 };
	int fd = ct_file("refused", 32 * PAGE);
	char *p;

	setrlimit(RLIMIT_MEMLOCK, &none);
	if (geteuid() == 0 && setuid(65534))
		ct_die("setuid");
	p = ct_map(fd, 32 * PAGE, RW, MAP_SHARED, 0);
	p[0] = 1;
	say_rc("L04 not permitted", mlockall(MCL_CURRENT | MCL_FUTURE));
	say("L04 content: %02x %d", ct_load(p),
	    ct_matches(p + PAGE, PAGE, PAGE));
	say("L04 in the file: %02x", ct_in_file(fd, 0));
}

int main(int argc, char **argv)
{
	struct rlimit limit;

	ct_begin(argc, argv);
	say_child("L04", refused);
	/* Unprivileged, the size of the address space counts, and the
	 * library's tables are in it: docs/limits.md. */
	getrlimit(RLIMIT_MEMLOCK, &limit);
	if (!geteuid() || limit.rlim_cur == RLIM_INFINITY)
		say_child("L04", now);
	say_child("L04", future);
	return 0;
}
