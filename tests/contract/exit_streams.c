/* SPDX-License-Identifier: MIT */
/* X22: a program ends with a stream open that lies in a mapping: libc writes it
 * out after all exit handlers, into pages that nobody has touched. */
#include "ct.h"

#include <spawn.h>

extern char **environ;

#define N 200ul
#define AT (50 * PAGE)

static int ends(const char *path)
{
	int fd = open(path, O_RDWR);
	char *p = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);
	FILE *fp = fmemopen(p + AT, PAGE, "w");

	p[0] = 1;
	return !fp || fputs("written at the end", fp) < 0;
}

int main(int argc, char **argv)
{
	char *again[] = { argv[0], argv[1], (char *)"ends", NULL };
	int status = 0, fd;
	char got[32] = "";
	pid_t pid;

	ct_begin(argc, argv);
	if (argc > 2)
		return ends(ct_path("f"));
	close(ct_file("f", N * PAGE));
	posix_spawn(&pid, argv[0], NULL, NULL, again, environ);
	waitpid(pid, &status, 0);
	fd = open(ct_path("f"), O_RDONLY);
	if (fd < 0 || pread(fd, got, 18, AT) != 18)
		ct_die("read");
	say("X22 status %d: %s", status, got);
	return 0;
}
