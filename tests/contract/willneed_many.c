/* SPDX-License-Identifier: MIT */
/* V20: a program asks for many pieces of a mapping at once, here and there, by
 * madvise and by posix_fadvise, and touches them later. */
/* env: FASTMAP_CACHE=8M */
#include "ct.h"

#define PIECES 200
#define PIECE 4  /* pages */
#define APART 11 /* pages from one to the next */
#define SIZE (PIECES * APART * PAGE)

static char *map;
static int fd;

static size_t place(int k)
{
	return (size_t)(k * 67 % PIECES) * APART * PAGE;
}

static int present(void)
{
	unsigned char v[PIECE];
	int n = 0;

	for (int k = 0; k < PIECES; k++) {
		if (mincore(map + place(k), PIECE * PAGE, v))
			ct_die("mincore");
		for (int i = 0; i < PIECE; i++)
			n += v[i] & 1;
	}
	return n;
}

static void ask(const char *how)
{
	for (int k = 0; k < PIECES; k++)
		if (!strcmp(how, "madvise"))
			madvise(map + place(k), PIECE * PAGE, MADV_WILLNEED);
		else
			posix_fadvise(fd, (off_t)place(k), PIECE * PAGE,
				      POSIX_FADV_WILLNEED);
}

static void pieces(const char *how)
{
	int n = 0, bad = 0;

	fd = ct_file("x", SIZE);
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	map = ct_map(fd, SIZE, PROT_READ, MAP_SHARED, 0);
	ask(how);
	bad += (unsigned char)map[5 * PAGE] != ct_byte(5 * PAGE);
	for (int t = 0; t < 500 && n < PIECES * PIECE; t++) {
		usleep(10000);
		n = present();
	}
	for (int k = 0; k < PIECES; k++)
		for (size_t i = place(k); i < place(k) + PIECE * PAGE; i += 512)
			bad += (unsigned char)map[i] != ct_byte(i);
	say("V20 %s: %d of %d pages come, %d bad", how, n, PIECES * PIECE, bad);
	munmap(map, SIZE);
	close(fd);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	pieces("madvise");
	pieces("fadvise");
	return 0;
}
