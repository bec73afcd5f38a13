/* SPDX-License-Identifier: MIT */
/* L01, L03: mlock and its relatives. */
#include "ct.h"

static char *p;

static void child(void)
{
	say_rc("L03 invalidate in the child",
	       msync(p, 4 * PAGE, MS_INVALIDATE));
	say("L03 content in the child: %d", ct_matches(p + PAGE, PAGE, PAGE));
}

int main(int argc, char **argv)
{
	unsigned char vec[8];
	int fd;

	ct_begin(argc, argv);
	fd = ct_file("f", 4 * PAGE);
	p = ct_map(fd, 8 * PAGE, RW, MAP_SHARED, 0);
	say("L01 before: %d", ct_matches(p, 4 * PAGE, 0));
	if (mlock(p, PAGE))
		ct_skip("mlock is not permitted");
	say_rc("L01 mlock beyond the end", mlock(p + 4 * PAGE, PAGE));
	say_rc("L01 mlock across the end", mlock(p + 3 * PAGE, 2 * PAGE));
	say_rc("L01 mlock2, unknown flag", mlock2(p, PAGE, 0x80));
	say_rc("L01 mlock2 onfault", mlock2(p, PAGE, MLOCK_ONFAULT));
	say_rc("L01 mlock unaligned", mlock(p + 5, 10));
	say_rc("L01 mlock length 0", mlock(p, 0));
	say_rc("L01 munlock", munlock(p, 8 * PAGE));
	say_rc("L01 munlock again", munlock(p, 4 * PAGE));
	say_rc("L01 mlock wraps", mlock(p, -PAGE));
	munmap(p + 6 * PAGE, PAGE);
	say_rc("L01 mlock unmapped", mlock(p + 6 * PAGE, PAGE));
	say_rc("L01 munlock unmapped", munlock(p + 6 * PAGE, PAGE));
	say_rc("L01 mlock", mlock(p, 4 * PAGE));
	say_rc("L01 mincore", mincore(p, 4 * PAGE, vec));
	say("L01 resident: %d %d %d %d", vec[0] & 1, vec[1] & 1, vec[2] & 1,
	    vec[3] & 1);
	p[0] = 0x11;
	say("L01 content: %02x %d", p[0], ct_matches(p + PAGE, 3 * PAGE, PAGE));
	say("L01 in the file: %02x", ct_in_file(fd, 0));
	say_rc("L03 invalidate in the parent",
	       msync(p, 4 * PAGE, MS_INVALIDATE));
	say_child("L03", child);
	say_rc("L01 munlockall", munlockall());
	say_rc("L01 invalidate", msync(p, 4 * PAGE, MS_INVALIDATE));
	say("L01 content: %02x", p[0]);
	return 0;
}
