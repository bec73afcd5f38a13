/* SPDX-License-Identifier: MIT */
/* C50: a file grows by write(2) under a mapping that is longer than it, and
 * each new page is looked at. To look must not make the kernel write: what has
 * been appended is still its to write when it likes. */
#include "ct.h"

#include <sys/syscall.h>

#define FIRST 40 /* pages */
#define LAST 600
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

static int append(int fd, size_t p, size_t len, const char *map)
{
	char buf[PAGE];

	for (size_t i = 0; i < len; i++)
		buf[i] = (char)ct_byte(p * PAGE + i);
	ct_pwrite(fd, buf, len, (off_t)(p * PAGE));
	return !ct_matches(map + p * PAGE, len, p * PAGE) ||
	       !ct_zero(map + p * PAGE + len, PAGE - len);
}

int main(int argc, char **argv)
{
	int fd, bad = 0;
	char *map;
	long dirty;

	ct_begin(argc, argv);
	fd = ct_file("grows", FIRST * PAGE);
	map = ct_map(fd, 4 * LAST * PAGE, PROT_READ, MAP_SHARED, 0);
	bad += !ct_matches(map, FIRST * PAGE, 0);
	if (fsync(fd))
		ct_die("fsync");
	for (size_t p = FIRST; p < LAST; p++)
		bad += append(fd, p, p % 4 ? PAGE : 1 + p % PAGE, map);
	dirty = dirty_pages(fd);
	say("C50 %d pages wrong; not written yet: %s", bad,
	    dirty < 0 ? "cannot be known" :
	    dirty * 2 > LAST - FIRST ? "most" : "few");
	say_load("C50 beyond", map, LAST * PAGE);
	return 0;
}
