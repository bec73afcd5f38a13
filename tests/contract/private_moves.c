/* SPDX-License-Identifier: MIT */
/*
 * C65: bytes of a file move, or go, below a private mapping of which some pages
 * were stored to. What becomes of those is the file system's choice (ext4 takes
 * them away, XFS leaves them; FASTMAP_TEST_DIR says where this runs).
 */
#include "ct.h"

#include <linux/falloc.h>

#define PAGES 300
#define AT 10 /* pages, and how many of them */
#define LEN 4

static void change(const char *what, int mode)
{
	static const int own[] = { 5, 12, 20, 100 };
	int fd = ct_file("f", PAGES * PAGE), r;
	volatile char *m = ct_map(fd, PAGES * PAGE, RW, MAP_PRIVATE, 0);

	for (int i = 0; i < PAGES; i++)
		ct_load(m + i * PAGE);
	for (int i = 0; i < 4; i++)
		m[own[i] * PAGE] = 0;
	r = fallocate(fd, mode, AT * PAGE, LEN * PAGE);
	say("C65 %s: %s", what, ct_errno(r));
	for (int i = 0; i < 4; i++)
		say("C65 page %d: %d, the next: %d", own[i], m[own[i] * PAGE],
		    m[(own[i] + 1) * PAGE]);
	munmap((void *)m, PAGES * PAGE);
	close(fd);
	unlink(ct_path("f"));
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	change("collapse", FALLOC_FL_COLLAPSE_RANGE);
	change("insert", FALLOC_FL_INSERT_RANGE);
	change("punch", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE);
	change("zero", FALLOC_FL_ZERO_RANGE);
	return 0;
}
