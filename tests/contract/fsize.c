/* SPDX-License-Identifier: MIT */
/* C42: RLIMIT_FSIZE limits write(2) and ftruncate, not stores to a mapping. */
#include "ct.h"

#include <sys/resource.h>
#include <sys/syscall.h>

#define N (64 * PAGE)
#define LIMIT (8 * PAGE)

static struct rlimit limit = { LIMIT, N };

static void stores(char *p, int fd)
{
	p[20 * PAGE] = 'x';
	p[3 * PAGE] = 'y';
	say_rc("C42 msync", msync(p, N, MS_SYNC));
	p[21 * PAGE] = 'z';
	say_rc("C42 fsync", fsync(fd));
	p[22 * PAGE] = 'u';
	say("C42 in the file: %c", ct_in_file(fd, 22 * PAGE));
	munmap(p, N);
	say("C42 unmapped: %c %c %c %c", ct_in_file(fd, 3 * PAGE),
	    ct_in_file(fd, 20 * PAGE), ct_in_file(fd, 21 * PAGE),
	    ct_in_file(fd, 22 * PAGE));
}

static void lowered(void)
{
	int fd = ct_file("lowered", N);
	char *p = ct_map(fd, N, RW, MAP_SHARED, 0);

	p[30 * PAGE] = 'b'; /* dirty before */
	say_rc("C42 setrlimit of nonsense", setrlimit(RLIMIT_FSIZE, (void *)8));
	say_rc("C42 setrlimit", setrlimit(RLIMIT_FSIZE, &limit));
	say("C42 stored before: %c", ct_in_file(fd, 30 * PAGE));
	stores(p, fd);
}

static void by_prlimit(void)
{
	int fd = ct_file("prlimit", N);
	char *p = ct_map(fd, N, RW, MAP_SHARED, 0);

	p[30 * PAGE] = 'b';
	say_rc("C42 prlimit", prlimit(0, RLIMIT_FSIZE, &limit, NULL));
	stores(p, fd);
}

static void by_number(void)
{
	int fd = ct_file("number", N);
	char *p = ct_map(fd, N, RW, MAP_SHARED, 0);

	p[30 * PAGE] = 'b';
	say_rc("C42 SYS_prlimit64",
	       syscall(SYS_prlimit64, getpid(), RLIMIT_FSIZE, &limit, NULL));
	stores(p, fd);
}

/* Low already when the file is mapped; a hole, and a file below the limit. */
static void low(void)
{
	int fd = ct_file("low", 0), small = ct_file("small", LIMIT);
	char *p, *s;

	if (ftruncate(fd, N))
		ct_die("ftruncate");
	say_rc("C42 setrlimit", setrlimit(RLIMIT_FSIZE, &limit));
	p = ct_map(fd, N, RW, MAP_SHARED, 0);
	s = ct_map(small, LIMIT, RW, MAP_SHARED, 0);
	s[7 * PAGE + 4000] = 's';
	say_rc("C42 msync below", msync(s, LIMIT, MS_SYNC));
	signal(SIGXFSZ, SIG_IGN);
	say_rc("C42 write beyond", pwrite(fd, "x", 1, 10 * PAGE));
	say("C42 write across: %zd", pwrite(fd, p, 4 * PAGE, 6 * PAGE));
	say("C42 write across: %zd", pwrite(small, s, 4 * PAGE, 6 * PAGE));
	say_rc("C42 ftruncate", ftruncate(small, LIMIT + 1));
	say_load("C42 small", s, LIMIT - 1);
	signal(SIGXFSZ, SIG_DFL);
	stores(p, fd);
}

/* In the process that has begun the engine, too. */
int main(int argc, char **argv)
{
	int fd;
	char *p;

	ct_begin(argc, argv);
	say_child("lowered", lowered);
	say_child("by prlimit", by_prlimit);
	say_child("by number", by_number);
	say_child("low", low);
	fd = ct_file("f", N);
	p = ct_map(fd, N, RW, MAP_SHARED, 0);
	p[5] = 'p';
	lowered();
	say("C42 %c", p[5]);
	return 0;
}
