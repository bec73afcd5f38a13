/* SPDX-License-Identifier: MIT */
/* env: FASTMAP_CACHE=128M */
/* AP11: what a program asks for does not wait for buffers that are full of
 * guesses: what was read ahead of readers that have gone elsewhere. */
#include "api.h"

#define MIB (1ul << 20)
#define APART (4 * MIB)
#define ALL ((READERS + ASKED) * APART)
#define READERS 16ul
#define EACH (2 * MIB) /* in order, then it stops */
#define ASKED 12ul /* MiB, each alone */

static struct fastmap_stat numbers(void)
{
	struct fastmap_stat s = { 0 };

	fastmap_stat(&s, sizeof(s));
	return s;
}

static int right(const char *p, size_t at)
{
	return ct_load(p + at) == ct_byte(at);
}

int main(int argc, char **argv)
{
	struct fastmap_range asked[ASKED];
	struct fastmap_stat before;
	size_t ok = 0;
	char *p;
	int fd;

	ct_begin(argc, argv);
	fd = ct_file("f", ALL);
	fdatasync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	p = api_map(fd, ALL, PROT_READ, MAP_SHARED);
	for (size_t r = 0; r < READERS; r++)
		for (size_t at = 0; at < EACH; at += PAGE)
			ok += right(p, r * APART + at + 7);
	usleep(20000); /* what is under way comes */
	for (size_t k = 0; k < ASKED; k++)
		asked[k] = (struct fastmap_range){
			p + (READERS + k) * APART, MIB };
	before = numbers();
	api_prefetch(asked, ASKED);
	/* A MiB is one read, not sixteen small ones. */
	say("AP11 long reads: %d", !before.engine_files ||
	    before.cache_limit < 64 * MIB ||
	    numbers().reads - before.reads < 4 * ASKED);
	for (size_t k = 0; k < ASKED; k++)
		ok += right(p, (READERS + k) * APART + 9);
	say("AP11 bytes: %d", ok == READERS * EACH / PAGE + ASKED);
	munmap(p, ALL);
	return 0;
}
