/* SPDX-License-Identifier: MIT */
/* C50: a file grows by write(2) under a mapping that is longer than it, and
 * each new page is looked at. To look must not make the kernel write: what has
 * been appended is still its to write when it likes. */
#include "ct.h"

#include <sys/syscall.h>

#define FIRST 40 /* pages */
#define LAST 600
#define TRIES 10
#define NR_CACHESTAT 451 /* Linux 6.5 */

/* Dirty pages of the file in the page cache, or -1. */
static long dirty_pages(int fd)
{
	struct {
		uint64_t off, len;
	} all = { 0, 0 };
	struct {
		uint64_t cache, dirty, writeback, evicted, lately;
	} cs;

	if (syscall(NR_CACHESTAT, fd, &all, &cs, 0))
		return -1;
	return (long)cs.dirty;
}

static bool is_most(long dirty)
{
	return dirty * 2 > LAST - FIRST;
}

static int append(int fd, size_t p, size_t len, const char *map)
{
	char buf[PAGE];

	for (size_t i = 0; i < len; i++)
		buf[i] = (char)ct_byte(p * PAGE + i);
	ct_pwrite(fd, buf, len, (off_t)(p * PAGE));
	return !ct_matches(map + p * PAGE, len, p * PAGE) ||
	       !ct_zero(map + p * PAGE + len, PAGE - len);
}

/* Dirty pages at the end, or -1. */
static long grow(int *bad)
{
	char *map;
	long dirty;
	int fd;

	unlink(ct_path("grows"));
	fd = ct_file("grows", FIRST * PAGE);
	map = ct_map(fd, 4 * LAST * PAGE, PROT_READ, MAP_SHARED, 0);
	*bad += !ct_matches(map, FIRST * PAGE, 0);
	if (fsync(fd))
		ct_die("fsync");
	for (size_t p = FIRST; p < LAST; p++)
		*bad += append(fd, p, p % 4 ? PAGE : 1 + p % PAGE, map);
	dirty = dirty_pages(fd);
	close(fd);
	if (is_most(dirty))
		say_load("C50 beyond", map, LAST * PAGE);
	munmap(map, 4 * LAST * PAGE);
	return dirty;
}

int main(int argc, char **argv)
{
	int bad = 0;
	long dirty = 0;

	ct_begin(argc, argv);
	/* Others may have the kernel write (sync); not each time. */
	for (int n = 0; n < TRIES && dirty >= 0 && !is_most(dirty); n++) {
		if (n)
			usleep(200000);
		dirty = grow(&bad);
	}
	say("C50 %d pages wrong; not written yet: %s", bad,
	    dirty < 0 ? "cannot be known" : is_most(dirty) ? "most" : "few");
	return 0;
}
