/* SPDX-License-Identifier: MIT */
/*
 * F6i: a program that has nothing mapped by us closes all descriptors, those of
 * the library among them. Its file is the kernel's, for another process has it
 * open for writing.
 */
/* not engaged: that is the case */
#include "ct.h"

#include <sys/syscall.h>

#define N 64ul

static void look(void)
{
	int fd = open(ct_path("idle"), O_RDONLY);
	char *p = ct_map(fd, N * PAGE, PROT_READ, MAP_SHARED, 0);

	say("F6i before: %d", ct_matches(p, PAGE, 0));
	ct_raw(SYS_close_range, 3, ~0u, 0, 0);
	usleep(1200000);
	say("F6i after: %d", ct_matches(p, N * PAGE, 0));
	munmap(p, N * PAGE);
}

int main(int argc, char **argv)
{
	int fd;

	ct_begin(argc, argv);
	fd = ct_file("idle", N * PAGE);
	say_child("F6i", look);
	close(fd);
	return 0;
}
