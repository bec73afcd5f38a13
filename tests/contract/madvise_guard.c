/* SPDX-License-Identifier: MIT */
/* V14: guard pages (Linux 6.13 and later). */
#include "ct.h"

int main(int argc, char **argv)
{
	int fd;
	char *p;

	ct_begin(argc, argv);
	fd = ct_file("f", 8 * PAGE);
	p = ct_map(fd, 8 * PAGE, RW, MAP_SHARED, 0);
	p[PAGE] = 0x11;
	p[2 * PAGE] = 0x12;
	if (madvise(p + PAGE, 2 * PAGE, 102))
		ct_skip("no MADV_GUARD_INSTALL");
	say_load("V14 guarded", p, PAGE);
	say_store("V14 guarded", p, 2 * PAGE);
	say_load("V14 neighbour", p, 3 * PAGE);
	say("V14 in the file: %02x", ct_in_file(fd, PAGE));
	say_rc("V14 remove", madvise(p, 8 * PAGE, 103));
	say_load("V14 usable again", p, PAGE);
	say_store("V14 usable again", p, 2 * PAGE);
	return 0;
}
