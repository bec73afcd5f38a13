/* SPDX-License-Identifier: MIT */
/* C116: files are mapped one after the other while it is recorded who serves
 * what, by a thread with a table of descriptors of its own. */
/* all ours */
/* env: FASTMAP_TRACE_SERVE={own}/serve-%p */
#include "ct.h"

#define SIZE (64 * PAGE)

static void one(const char *name)
{
	int fd = ct_file(name, SIZE);
	char *p;

	ct_uncache(fd);
	p = ct_map(fd, SIZE, RW, MAP_SHARED, 0);
	close(fd);
	for (size_t i = 0; i < SIZE / PAGE; i++)
		p[i * PAGE + 9] = (char)i;
	say("C116 %s: %s", name, ct_errno(msync(p, SIZE, MS_SYNC)));
}

/* The recorder looks each second. */
int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	one("first");
	usleep(2500000);
	one("second");
	usleep(1500000);
	one("third");
	return 0;
}
