/* SPDX-License-Identifier: MIT */
/* not engaged: a program that may open so few is left to the kernel */
/* env: FASTMAP_SOCKET=none */
/* (where there is a /run/fastmap it would have a socket all the same) */
/* F7f: descriptors that are open before and after a file is mapped, where the
 * limit is low. */
#include "ct.h"

#include <dirent.h>
#include <sys/resource.h>

static int count(void)
{
	DIR *d = opendir("/proc/self/fd");
	int n = 0;

	while (readdir(d))
		n++;
	closedir(d);
	return n;
}

int main(int argc, char **argv)
{
	struct rlimit lim = { 50, 50 };
	int fd, before;
	char *p;

	ct_begin(argc, argv);
	if (setrlimit(RLIMIT_NOFILE, &lim))
		ct_die("setrlimit");
	fd = ct_file("f", 64 * PAGE);
	before = count();
	p = ct_map(fd, 64 * PAGE, RW, MAP_SHARED, 0);
	for (size_t i = 0; i < 64; i++)
		p[i * PAGE]++;
	say("F7f descriptors more: %d", count() - before);
	munmap(p, 64 * PAGE);
	say("F7f after munmap: %d", count() - before);
	return 0;
}
