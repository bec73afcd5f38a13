/* SPDX-License-Identifier: MIT */
/* X27: instructions of the program's own unmap a part of a mapping, or map
 * something else there, behind everybody's back. What is mapped there is the
 * program's, what is not is SIGSEGV, and the rest of the mapping works. */
/* differs: X27c what is clean when it is mapped over may be dropped */
#include "ct.h"

#include <sys/syscall.h>

#define N 256ul
#define LO 64ul
#define HI 128ul
#define TURN 2048ul /* pages, each read and stored to: twice 4 MiB, and twice */

static long raw_map(char *at, size_t len)
{
	register long r10 __asm__("r10") =
		MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED;
	register long r8 __asm__("r8") = -1;
	register long r9 __asm__("r9") = 0;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"(SYS_mmap), "D"(at), "S"(len), "d"(RW), "r"(r10),
			   "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	return r;
}

static char *begin(const char *name, int *ret_fd)
{
	char *p;

	*ret_fd = ct_file(name, N * PAGE);
	p = ct_map(*ret_fd, N * PAGE, RW, MAP_SHARED, 0);
	for (size_t i = 0; i < N; i += 2)
		p[i * PAGE] = 7;
	return p;
}

/* What somebody else reads until the cache has been turned over. */
static void turn_over(void)
{
	int fd = ct_file("large", TURN * PAGE);
	char *p = ct_map(fd, TURN * PAGE, RW, MAP_SHARED, 0);

	say("X27 another file, wrong: %zu", ct_wrong(p, 0, TURN));
	for (size_t i = 0; i < TURN; i++)
		p[i * PAGE] = 1;
	munmap(p, TURN * PAGE);
	close(fd);
}

static void rest(const char *how, char *p, int fd)
{
	size_t bad = 0;
	char c;

	for (size_t i = 0; i < N; i += 2)
		if (i < LO || i >= HI)
			p[i * PAGE + 1] = 8;
	turn_over();
	for (size_t i = 0; i < N; i += 2)
		if (i < LO || i >= HI)
			bad += p[i * PAGE] != 7 || p[i * PAGE + 1] != 8;
	say("X27 %s: wrong in what is left: %zu", how, bad);
	munmap(p, LO * PAGE);
	munmap(p + HI * PAGE, (N - HI) * PAGE);
	bad = 0;
	for (size_t i = 0; i < N; i += 2)
		if (i < LO || i >= HI)
			bad += pread(fd, &c, 1, (off_t)(i * PAGE + 1)) != 1 ||
			       c != 8;
	say("X27 %s: wrong in the file: %zu", how, bad);
	close(fd);
}

static void unmapped(void)
{
	int fd;
	char *p = begin("unmapped", &fd);

	say("X27 unmapped: %ld", ct_raw(SYS_munmap, (long)(p + LO * PAGE),
					(long)((HI - LO) * PAGE), 0, 0));
	say_load("X27 unmapped, a page that was there", p, LO * PAGE);
	say_store("X27 unmapped, stored to", p, (LO + 2) * PAGE);
	rest("unmapped", p, fd);
}

static void replaced(void)
{
	size_t bad = 0;
	int fd;
	char *p = begin("replaced", &fd), *q = p + LO * PAGE;

	say("X27 replaced: %d", raw_map(q, (HI - LO) * PAGE) == (long)q);
	memset(q, 0x77, (HI - LO) * PAGE);
	rest("replaced", p, fd);
	for (size_t i = 0; i < (HI - LO) * PAGE; i++)
		bad += q[i] != 0x77;
	say("X27c replaced: wrong in what is there now: %zu", bad);
}

/* Another mapping of the file sees no bytes of somebody else's. */
static void other_view(void)
{
	size_t bad = 0;
	int fd;
	char *p = begin("views", &fd), *q = p + LO * PAGE;
	char *o = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);

	raw_map(q, (HI - LO) * PAGE);
	memset(q, 0x77, (HI - LO) * PAGE);
	for (size_t i = 0; i < N; i++)
		bad += !ct_matches(o + i * PAGE + 8, PAGE - 8, i * PAGE + 8);
	for (size_t i = 0; i < N; i++)
		o[i * PAGE + 1] = 3;
	for (size_t i = 0; i < N; i++)
		bad += o[i * PAGE + 1] != 3 ||
		       !ct_matches(o + i * PAGE + 8, PAGE - 8, i * PAGE + 8);
	say_rc("X27 views: msync", msync(o, N * PAGE, MS_SYNC));
	say("X27 views: wrong: %zu", bad);
	munmap(o, N * PAGE);
	bad = 0;
	for (size_t i = 0; i < (HI - LO) * PAGE; i++)
		bad += q[i] != 0x77;
	say("X27c views: wrong in what is there now: %zu", bad);
	close(fd);
}

static void all_of_it(void)
{
	static char buf[N * PAGE];
	int fd;
	char *p = begin("whole", &fd);

	ct_raw(SYS_munmap, (long)p, (long)(N * PAGE), 0, 0);
	say("X27 all of it: read: %zd", pread(fd, buf, sizeof(buf), 0));
	say_store("X27 all of it", p, PAGE);
	turn_over();
	say_rc("X27 all of it: munmap", munmap(p, N * PAGE));
	close(fd);
	fd = ct_file("again", N * PAGE);
	p = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);
	say("X27 mapped again, wrong: %zu", ct_wrong(p, 0, N));
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	unmapped();
	replaced();
	other_view();
	all_of_it();
	return 0;
}
