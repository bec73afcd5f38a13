/* SPDX-License-Identifier: MIT */
/* X03: errno is 0 at the start of main, and calls that succeed leave it
 * alone. */
#include "ct.h"

int main(int argc, char **argv)
{
	const int at_start = errno;
	int fd;
	char *p;

	ct_begin(argc, argv);
	say("X03 at the start of main: %d", at_start);
	fd = ct_file("f", 16 * PAGE);
	errno = 0;
	p = mmap(NULL, 16 * PAGE, RW, MAP_SHARED, fd, 0);
	say("X03 mmap: %d %d", p != MAP_FAILED, errno);
	p[PAGE] = p[2 * PAGE];
	say("X03 load and store: %d", errno);
	say("X03 msync: %d %d", msync(p, 16 * PAGE, MS_SYNC), errno);
	say("X03 madvise: %d %d", madvise(p, 16 * PAGE, MADV_DONTNEED), errno);
	say("X03 munmap: %d %d", munmap(p, 16 * PAGE), errno);
	return 0;
}
