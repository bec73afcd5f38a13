/* SPDX-License-Identifier: MIT */
/* V11: guard pages (Linux 6.13 and later). */
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
	say_load("V11 guarded", p, PAGE);
	say_store("V11 guarded", p, 2 * PAGE);
	say_load("V11 neighbour", p, 3 * PAGE);
	say("V11 in the file: %02x", ct_in_file(fd, PAGE));
	say_rc("V11 remove", madvise(p, 8 * PAGE, 103));
	say_load("V11 usable again", p, PAGE);
	say_store("V11 usable again", p, 2 * PAGE);
	return 0;
}
