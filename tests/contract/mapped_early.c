/* SPDX-License-Identifier: MIT */
/* X30: the program maps what was mapped before by a constructor older than
 * libfastmap's, or by an instruction of its own. */
#include "ct.h"
#include "lib/early.h"

#include <sys/syscall.h>

#define N EARLY_PAGES
#define LEN (N * PAGE)

/* Past every hook. */
static char *map_raw(int fd, int prot, int flags)
{
	register long r10 __asm__("r10") = flags, r8 __asm__("r8") = fd;
	register long r9 __asm__("r9") = 0;
	long r;

	__asm__ volatile("syscall"
			 : "=a"(r)
			 : "a"((long)SYS_mmap), "D"(0l), "S"((long)LEN),
			   "d"((long)prot), "r"(r10), "r"(r8), "r"(r9)
			 : "rcx", "r11", "memory");
	if (r < 0)
		ct_die("mmap");
	return (char *)r;
}

/* Each side stores, the other and read(2) see it at once; in the end all of it
 * is in the file. */
static void both_store(const char *what, char *other, int fd)
{
	char *ours = ct_map(fd, LEN, RW, MAP_SHARED, 0);
	size_t missed = 0, unread = 0, lost = 0;

	for (size_t at = 0; at < LEN; at += PAGE) {
		other[at] = 1;
		missed += ours[at] != 1;
		ours[at + 1] = 2;
		missed += other[at + 1] != 2;
		other[at + 2] = 3;
		missed += ours[at + 2] != 3;
		unread += ct_in_file(fd, at + 2) != 3;
	}
	munmap(ours, LEN);
	for (size_t at = 0; at < LEN; at += PAGE)
		for (size_t i = 0; i < 3; i++)
			lost += ct_in_file(fd, at + i) != (int)i + 1;
	say("X30 %s: missed %zu, not read %zu, lost %zu", what, missed, unread,
	    lost);
}

/* Only one of them can store; the other has looked before. */
static void one_stores(const char *what, const char *sees, char *stores)
{
	size_t stale = 0;

	for (size_t at = 0; at < LEN; at += PAGE) {
		char before = sees[at];

		stores[at] = (char)(before + 1);
		stale += sees[at] != (char)(before + 1);
	}
	say("X30 %s: stale %zu", what, stale);
}

static void early(void)
{
	const struct early e = early_maps();
	char *p;
	int fd;

	if (!e.shared || !e.looks || !e.private)
		ct_die("the constructor's");
	both_store("a constructor's", e.shared,
		   open(ct_path("early"), O_RDWR));
	fd = open(ct_path("early_looks"), O_RDWR);
	p = ct_map(fd, LEN, RW, MAP_SHARED, 0);
	one_stores("a constructor's, only read", e.looks, p);
	munmap(p, LEN);
	fd = open(ct_path("early_private"), O_RDWR);
	p = ct_map(fd, LEN, RW, MAP_SHARED, 0);
	one_stores("a constructor's, private", e.private, p);
	munmap(p, LEN);
}

static void raw(void)
{
	int fd = ct_file("raw", LEN), look;
	char *other = map_raw(fd, RW, MAP_SHARED), *p;

	both_store("an instruction's", other, fd);
	fd = ct_file("raw_read", LEN);
	look = open(ct_path("raw_read"), O_RDONLY);
	other = map_raw(fd, RW, MAP_SHARED);
	close(fd);
	p = ct_map(look, LEN, PROT_READ, MAP_SHARED, 0);
	one_stores("read by us, stored to past us", p, other);
	munmap(p, LEN);
	p = ct_map(look, LEN, PROT_READ, MAP_PRIVATE, 0);
	one_stores("read by a private one of ours", p, other);
	munmap(p, LEN);
}

static int early_fd;

static int heir(void *other)
{
	both_store("inherited", other, early_fd);
	return 0;
}

/* The child has what the parent mapped, and maps it for the first time. */
static void inherited(void)
{
	early_fd = ct_file("inherited", LEN);
	say("X30 child: %d",
	    ct_child(heir, map_raw(early_fd, RW, MAP_SHARED)));
}

/* First only read on both sides; then one of ours may be stored to. */
static void upgraded(void)
{
	int look, fd = ct_file("upgraded", LEN);
	char *other, *p, *q;

	look = open(ct_path("upgraded"), O_RDONLY);
	close(fd);
	other = map_raw(look, PROT_READ, MAP_SHARED);
	p = ct_map(look, LEN, PROT_READ, MAP_SHARED, 0);
	say("X30 only read: %d %d", ct_matches(p, LEN, 0),
	    ct_matches(other, LEN, 0));
	fd = open(ct_path("upgraded"), O_RDWR);
	q = ct_map(fd, LEN, RW, MAP_SHARED, 0);
	one_stores("stored to later", other, q);
	one_stores("seen by both of ours", p, q);
	munmap(p, LEN);
	munmap(q, LEN);
}

/* What is mapped past us is gone: the engine may have the file. */
static void gone(void)
{
	int fd = ct_file("gone", LEN);
	char *other = map_raw(fd, RW, MAP_SHARED), *p;

	other[0] = 5;
	munmap(other, LEN);
	p = ct_map(fd, LEN, RW, MAP_SHARED, 0);
	say("X30 gone: %d", p[0]);
	for (size_t at = 0; at < LEN; at += PAGE)
		p[at] = 6;
	munmap(p, LEN);
	say("X30 stored: %d", ct_in_file(fd, 3 * PAGE));
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	early();
	raw();
	inherited();
	upgraded();
	gone();
	return 0;
}
