/* SPDX-License-Identifier: MIT */
/*
 * I02b: mincore tells of what the page cache has, by whomever: read through the
 * descriptor, readahead, a child with a mapping of its own; also where a hole
 * follows, and after the descriptor is closed.
 */
#include "ct.h"

#define PAGES 256
#define HALF (PAGES / 2)

static unsigned char vec[PAGES];

static int here(char *p, int from)
{
	int n = 0;

	memset(vec, 0, sizeof(vec));
	if (mincore(p, PAGES * PAGE, vec) && errno != ENOMEM)
		ct_die("mincore");
	for (int i = from; i < from + HALF; i++)
		n += vec[i] & 1;
	return n;
}

static int cold(void)
{
	int fd = ct_file("f", PAGES * PAGE);

	if (fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		ct_die("fsync");
	return fd;
}

static void by_read(int fd)
{
	static char buf[HALF * PAGE];

	if (pread(fd, buf, sizeof(buf), 0) != sizeof(buf))
		ct_die("pread");
}

static int loads(void *fd)
{
	char *q = ct_map(*(int *)fd, PAGES * PAGE, PROT_READ, MAP_SHARED, 0);

	for (int i = 0; i < HALF; i++)
		*(volatile char *)(q + i * (int)PAGE);
	return 0;
}

static void by_child(int fd)
{
	ct_child(loads, &fd);
}

static void look(const char *what, int flags, void (*bring)(int fd))
{
	int fd = cold();
	char *p = ct_map(fd, PAGES * PAGE, PROT_READ, flags, 0);

	*(volatile char *)(p + (PAGES - 1) * PAGE);
	bring(fd);
	say("I02b %s: %d of %d", what, here(p, 0), HALF);
	close(fd);
	say("I02b %s, closed: %d of %d", what, here(p, 0), HALF);
	munmap(p + HALF * PAGE, PAGE);
	say("I02b %s, before a hole: %d of %d", what, here(p, 0), HALF);
	say("I02b %s, behind it: %d", what, here(p, HALF));
	munmap(p, PAGES * PAGE);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	look("read, shared", MAP_SHARED, by_read);
	look("read, private", MAP_PRIVATE, by_read);
	look("a child, shared", MAP_SHARED, by_child);
	look("a child, private", MAP_PRIVATE, by_child);
	return 0;
}
