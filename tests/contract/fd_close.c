/* SPDX-License-Identifier: MIT */
/* Daemons close every descriptor they can name; mappings go on. */
#include "ct.h"

#include <linux/close_range.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#define PAGES 64

static char *map;
static int next_page;

static void touch(const char *what)
{
	size_t off = (size_t)next_page++ * PAGE;

	say("D1 %s: page %d", what, ct_matches(map + off, PAGE, off));
	map[off] = 'x';
}

static void new_map(const char *what)
{
	int fd = ct_file("second", 2 * PAGE);
	char *p = ct_map(fd, 2 * PAGE, RW, MAP_SHARED, 0);

	say("D1 %s: descriptor %d, new mapping %d", what, fd,
	    ct_matches(p, 2 * PAGE, 0));
	close(fd);
	munmap(p, 2 * PAGE);
}

static void all_in_a_loop(void)
{
	struct rlimit lim;
	int open_ones = 0;

	getrlimit(RLIMIT_NOFILE, &lim);
	if (lim.rlim_cur > 65536)
		lim.rlim_cur = 65536;
	for (int fd = 3; fd < (int)lim.rlim_cur; fd++)
		open_ones += close(fd) == 0;
	say("D1 closed %d", open_ones);
}

static void ranges(void)
{
	say_rc("D1 close_range", close_range(3, ~0u, 0));
	touch("close_range");
	say_rc("D1 close_range from 100", close_range(100, 5000, 0));
	say_rc("D1 cloexec", close_range(3, ~0u, CLOSE_RANGE_CLOEXEC));
	say_rc("D1 reversed", close_range(9, 3, 0));
	say_rc("D1 bad flag", close_range(3, 9, 0x40));
	closefrom(3);
	touch("closefrom");
	say_rc("D1 by number", syscall(SYS_close_range, 3, ~0u, 0));
	touch("by number");
	say_rc("D1 unshare",
	       close_range(3, ~0u, CLOSE_RANGE_UNSHARE));
	touch("unshare");
}

static void dups(void)
{
	int fd = open("/dev/null", O_RDWR);

	say("D2 lowest free number %d", fd);
	say("D2 dup2 %d", dup2(fd, 77));
	say("D2 dup3 %d", dup3(fd, 78, O_CLOEXEC));
	say_rc("D2 dup2 of a closed one", dup2(500, 77));
	say_rc("D2 dup3 onto itself", dup3(fd, fd, 0));
	say_rc("D2 close twice", close(77) + close(77));
	say_rc("D2 close -1", close(-1));
	close(78);
	close(fd);
}

int main(int argc, char **argv)
{
	int fd;

	ct_begin(argc, argv);
	fd = ct_file("close", PAGES * PAGE);
	map = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	say("D5 descriptor %d", fd);
	touch("before");
	close(fd);
	touch("after close");
	all_in_a_loop();
	touch("loop");
	new_map("after the loop");
	ranges();
	new_map("after the ranges");
	dups();
	fd = open(ct_path("close"), O_RDONLY);
	say_rc("D1 msync", msync(map, PAGES * PAGE, MS_SYNC));
	for (int i = 0; i < next_page; i++)
		if (ct_in_file(fd, (off_t)i * (off_t)PAGE) != 'x')
			say("D1 page %d lost", i);
	say("D1 all there");
	return 0;
}
