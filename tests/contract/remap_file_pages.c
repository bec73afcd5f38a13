/* SPDX-License-Identifier: MIT */
/* F01: remap_file_pages. */
#include "ct.h"

int main(int argc, char **argv)
{
	int fd;
	char *p, *q;

	ct_begin(argc, argv);
	fd = ct_file("f", 16 * PAGE);
	p = ct_map(fd, 16 * PAGE, RW, MAP_SHARED, 0);
	q = ct_map(fd, 16 * PAGE, RW, MAP_PRIVATE, 0);
	p[9 * PAGE + 1] = 0x19;
	say_rc("F01 shared", remap_file_pages(p + 2 * PAGE, 2 * PAGE, 0, 9, 0));
	say("F01 content: %02x %d", p[2 * PAGE + 1],
	    (unsigned char)p[3 * PAGE] == ct_byte(10 * PAGE));
	p[2 * PAGE + 2] = 0x1a;
	say("F01 coherent: %02x, file %02x", p[9 * PAGE + 2],
	    ct_in_file(fd, 9 * PAGE + 2));
	say("F01 neighbours: %d %d", ct_matches(p + PAGE, PAGE, PAGE),
	    ct_matches(p + 4 * PAGE, PAGE, 4 * PAGE));
	say_rc("F01 private", remap_file_pages(q, PAGE, 0, 3, 0));
	say_rc("F01 protection", remap_file_pages(p, PAGE, PROT_READ, 3, 0));
	say_rc("F01 size 0", remap_file_pages(p, 0, 0, 3, 0));
	say("F01 unchanged: %d %d", ct_matches(p, PAGE, 0),
	    ct_matches(q, PAGE, 0));
	return 0;
}
