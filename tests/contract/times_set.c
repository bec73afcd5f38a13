/* SPDX-License-Identifier: MIT */
/* Y82: the program stores through a mapping and then says what time it was.
 * Neither msync, munmap nor the end of the program changes that. */
#include "ct.h"

#include <sys/stat.h>
#include <sys/time.h>
#include <utime.h>

#define PAGES 32ul
#define THEN 1000000000

static const struct timespec ns[2] = { { THEN, 5 }, { THEN, 7 } };
static const struct timeval us[2] = { { THEN, 5 }, { THEN, 7 } };

static int set(int how, int fd, const char *path)
{
	const struct utimbuf s = { THEN, THEN };

	switch (how) {
	case 0:
		return futimens(fd, ns);
	case 1:
		return utimensat(AT_FDCWD, path, ns, 0);
	case 2:
		return utimes(path, us);
	case 3:
		return futimes(fd, us);
	default:
		return utime(path, &s);
	}
}

static void look(const char *when, int how, int fd)
{
	struct stat st;

	if (fstat(fd, &st))
		ct_die("fstat");
	say("Y82 %d, after %s: %d", how, when, st.st_mtim.tv_sec == THEN);
}

static void one(int how)
{
	char name[16];
	char *p;
	int fd;

	snprintf(name, sizeof(name), "f%d", how);
	fd = ct_file(name, PAGES * PAGE);
	p = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	for (size_t i = 0; i < PAGES; i++)
		p[i * PAGE] = 'x';
	say_rc("Y82 set", set(how, fd, ct_path(name)));
	look("setting", how, fd);
	if (how % 2 == 0)
		say_rc("Y82 msync", msync(p, PAGES * PAGE, MS_SYNC));
	munmap(p, PAGES * PAGE);
	look("munmap", how, fd);
	say("Y82 stored: %c", ct_in_file(fd, 31 * PAGE));
	close(fd);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	for (int how = 0; how < 5; how++)
		one(how);
	return 0;
}
