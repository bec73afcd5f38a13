/* SPDX-License-Identifier: MIT */
/* F04: a write at 64 TiB, and further, to a file that is mapped. */
#include "ct.h"

int main(int argc, char **argv)
{
	int fd;
	volatile char *p;

	ct_begin(argc, argv);
	fd = ct_file("f", 16 * PAGE);
	p = ct_map(fd, 16 * PAGE, RW, MAP_SHARED, 0);
	p[0] = 1;
	for (int bits = 46; bits < 62; bits += 3)
		say("F04 %d: %s", bits,
		    ct_errno(pwrite(fd, "x", 1, 1ll << bits) != 1));
	say("F04 still: %d", p[0] == 1);
	return 0;
}
