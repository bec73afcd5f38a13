/* SPDX-License-Identifier: MIT */
/* X15: the file's mode does not let it be opened any more when a child of fork
 * uses the mapping, or a part is locked in memory: a mapping needs no
 * permission. */
/* timeout: 60 */
#include "ct.h"

#include <time.h>

#define LEN (64 * PAGE)

static char *map;

static void in_child(const char *what, bool stores)
{
	struct timespec from, to;
	int status;
	pid_t pid;

	clock_gettime(CLOCK_MONOTONIC, &from);
	pid = fork();
	if (!pid) {
		if (map[0] != 'a' ||
		    !ct_matches(map + 5 * PAGE, PAGE, 5 * PAGE))
			_exit(1);
		if (stores)
			map[PAGE] = 'c';
		_exit(0);
	}
	waitpid(pid, &status, 0);
	clock_gettime(CLOCK_MONOTONIC, &to);
	say("X15 %s: child %d, in time %d, its store %d", what, status,
	    to.tv_sec - from.tv_sec < 5, map[PAGE] == 'c');
}

static void one(const char *what, int prot, mode_t mode, bool lock)
{
	int fd = ct_file("f", LEN);

	ct_pwrite(fd, "a", 1, 0);
	map = ct_map(fd, LEN, prot, MAP_SHARED, 0);
	if (prot & PROT_WRITE)
		map[2 * PAGE] = 'a';
	if (fchmod(fd, mode))
		ct_die("fchmod");
	if (lock) {
		say_rc("X15 mlock", mlock(map, PAGE));
		say("X15 %s: %c", what, map[0]);
		munlock(map, PAGE);
	} else {
		in_child(what, prot & PROT_WRITE);
	}
	if (prot & PROT_WRITE)
		say_rc("X15 msync", msync(map, LEN, MS_SYNC));
	munmap(map, LEN);
	close(fd);
	unlink(ct_path("f"));
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	one("read-only now", RW, 0444, false);
	one("no access now", RW, 0, false);
	one("no access to what is read", PROT_READ, 0, false);
	one("read-only, locked in memory", RW, 0444, true);
	return 0;
}
