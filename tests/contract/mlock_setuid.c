/* SPDX-License-Identifier: MIT */
/* L05: mlock of what the program may not open any more. Whatever it answers,
 * the memory goes on to show the file. */
/* needs: root */
#include "ct.h"

#define N 8192ul

int main(int argc, char **argv)
{
	char byte = 0x41, *p;
	size_t bad;
	int fd;

	ct_begin(argc, argv);
	if (geteuid())
		ct_skip("only root can become somebody else");
	fd = ct_file("f", N * PAGE);
	if (fchmod(fd, 0600))
		ct_die("fchmod");
	p = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);
	ct_load(p);
	if (seteuid(65534))
		ct_die("seteuid");
	mlock(p, 4 * PAGE);
	bad = ct_wrong(p, 0, N);
	alarm(60);
	p[5] = 0x42;
	ct_pwrite(fd, &byte, 1, PAGE + 7);
	say("L05 stored %02x, written %02x, wrong %zu", p[5], p[PAGE + 7], bad);
	say("L05 in the file: %02x", ct_in_file(fd, 5));
	if (seteuid(0)) /* what is said at the end is root's */
		ct_die("seteuid");
	return 0;
}
