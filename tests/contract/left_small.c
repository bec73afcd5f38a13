/* SPDX-License-Identifier: MIT */
/* U10: a mapping that is too short for the engine, then a long one of the same
 * file that is stored to: the short one shows the stores, and the other way
 * round. What the file system calls its device differs between stat and
 * /proc/self/maps on some: tests/faults runs this on those too. */
/* env: FASTMAP_MIN_SIZE=1M */
#include "ct.h"

#define PAGES 512ul

int main(int argc, char **argv)
{
	volatile char *small, *large;
	int fd;

	ct_begin(argc, argv);
	fd = ct_file("left_small", PAGES * PAGE);
	ct_uncache(fd);
	small = ct_map(fd, 2 * PAGE, RW, MAP_SHARED, 0);
	say("U10 small: %d", (unsigned char)small[0]);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	large = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	large[0] = 7;
	say("U10 small after a store to the large: %d", small[0]);
	small[PAGE] = 9;
	say("U10 large after a store to the small: %d", large[PAGE]);
	/* A file of which no part is the kernel's. */
	large = ct_map(ct_file("other", PAGES * PAGE), PAGES * PAGE, RW,
		       MAP_SHARED, 0);
	large[0] = 7;
	say("U10 in the file: %d %d", ct_in_file(fd, 0), ct_in_file(fd, PAGE));
	return 0;
}
