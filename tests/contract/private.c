/* SPDX-License-Identifier: MIT */
/* C14, C15: private mappings. */
#include "ct.h"

static int fd;
static char *p, *q, *s;

static void child_stores(void)
{
	say("C14 child sees the copy: %02x", (unsigned char)p[0]);
	p[0] = 0x21;
	p[7 * PAGE] = 0x22;
	say("C14 child's own: %02x %02x", (unsigned char)p[0],
	    (unsigned char)p[7 * PAGE]);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	fd = ct_file("f", 16 * PAGE);
	p = ct_map(fd, 16 * PAGE, RW, MAP_PRIVATE, 0);
	q = ct_map(fd, 16 * PAGE, RW, MAP_PRIVATE, 0);
	s = ct_map(fd, 16 * PAGE, RW, MAP_SHARED, 0);

	say("C14 content: %d", ct_matches(p, 16 * PAGE, 0));
	p[0] = 0x11;
	p[1 * PAGE + 5] = 0x12;
	say("C14 isolated: map %d shared %d file %d", q[0] == 0x11,
	    s[0] == 0x11, ct_in_file(fd, 0) == 0x11);
	say("C14 rest of the copied page: %d", ct_matches(p + 1, PAGE - 1, 1));
	say_rc("C14 msync", msync(p, 16 * PAGE, MS_SYNC));
	say("C14 not in the file after msync: %d",
	    ct_in_file(fd, 0) == ct_byte(0));

	ct_pwrite(fd, "\x31", 1, 8);
	s[9] = 0x32;
	say("C14 copied page is frozen: %d %d",
	    (unsigned char)p[8] == ct_byte(8),
	    (unsigned char)p[9] == ct_byte(9));
	ct_pwrite(fd, "\x33", 1, 3 * PAGE);
	s[3 * PAGE + 1] = 0x34;
	say("C14 untouched page follows the file: %02x %02x",
	    (unsigned char)p[3 * PAGE], (unsigned char)p[3 * PAGE + 1]);
	s[15 * PAGE] = 0x35;
	say("C14 never touched page follows: %02x",
	    (unsigned char)p[15 * PAGE]);

	say_child("C14 child", child_stores);
	say("C14 parent after child: %02x %d", (unsigned char)p[0],
	    (unsigned char)p[7 * PAGE] == ct_byte(7 * PAGE));

	say_rc("C15 DONTNEED", madvise(p, PAGE, MADV_DONTNEED));
	say("C15 file content again: %d %02x %02x",
	    (unsigned char)p[0] == ct_byte(0), (unsigned char)p[8],
	    (unsigned char)p[9]);
	say("C15 other copied page stays: %02x", (unsigned char)p[PAGE + 5]);

	/* More own pages than a small cache has blocks. */
	munmap(q, 16 * PAGE);
	if (ftruncate(fd, 512 * PAGE))
		ct_die("ftruncate");
	q = ct_map(fd, 512 * PAGE, RW, MAP_PRIVATE, 0);
	for (int i = 0; i < 512; i++)
		q[i * (int)PAGE + i] = (char)(i | 1);
	int bad = 0;
	for (int i = 0; i < 512; i++)
		bad += q[i * (int)PAGE + i] != (char)(i | 1);
	say("C14 own pages lost: %d", bad);
	munmap(q, 512 * PAGE);
	say("C14 file is untouched: %d", ct_in_file(fd, 300 * PAGE + 300));
	return 0;
}
