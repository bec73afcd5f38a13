/* SPDX-License-Identifier: MIT */
/* X20: what the program has touched is in the page cache when a child of fork
 * looks. */
/* Larger than the file, or some of it is evicted before anybody looks. */
/* env: FASTMAP_CACHE=16M */
#include "ct.h"

#define PAGES 2048
#define EACH 16 /* of them one is read, one stored to */

static char *p;

/* Is what was touched resident? Reading ahead may be under way. */
static size_t missing(void)
{
	static unsigned char vec[PAGES];
	size_t n = PAGES;

	for (int tries = 0; n && tries < 100; tries++) {
		if (tries)
			usleep(20000);
		mincore(p, PAGES * PAGE, vec);
		n = 0;
		for (size_t i = 0; i < PAGES; i += EACH)
			n += !(vec[i] & 1) + !(vec[i + 5] & 1);
	}
	return n;
}

/* For who has to find out why. */
static void say_missing(void)
{
	static unsigned char vec[PAGES];

	mincore(p, PAGES * PAGE, vec);
	for (int i = 0; i < PAGES; i += EACH)
		if (!(vec[i] & 1) || !(vec[i + 5] & 1))
			fprintf(stderr, " %d", i);
	fprintf(stderr, " missing\n");
}

static bool stores;

static size_t wrong(void)
{
	size_t n = 0;

	for (size_t i = 0; i < PAGES; i += EACH)
		n += !ct_matches(p + i * PAGE, PAGE, i * PAGE) +
		     (stores && p[(i + 5) * PAGE] != 7);
	return n;
}

static void look(void)
{
	size_t n;

	(void)*(volatile char *)p;
	n = missing();
	say("X20 missing %zu", n);
	if (n)
		say_missing();
	say("X20 wrong %zu", wrong());
}

static void stored(int fd)
{
	stores = true;
	p = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	madvise(p, PAGES * PAGE, MADV_RANDOM);
	for (size_t i = 0; i < PAGES; i += EACH) {
		(void)*(volatile char *)(p + i * PAGE);
		p[(i + 5) * PAGE] = 7;
	}
	say_child("stored to", look);
	look();
	munmap(p, PAGES * PAGE);
	stores = false;
}

/* A file of its own: the kernel has the others by now. */
static void only_read(const char *what, void (*before)(void))
{
	int fd = ct_file(what, PAGES * PAGE);

	close(fd);
	fd = open(ct_path(what), O_RDONLY);
	ct_uncache(fd);
	p = ct_map(fd, PAGES * PAGE, PROT_READ, MAP_SHARED, 0);
	before();
	madvise(p, PAGES * PAGE, MADV_RANDOM);
	for (size_t i = 0; i < PAGES; i += EACH)
		(void)(*(volatile char *)(p + i * PAGE) +
		       *(volatile char *)(p + (i + 5) * PAGE));
	say_child(what, look);
	munmap(p, PAGES * PAGE);
	close(fd);
}

static void nothing(void)
{
}

/* One long run: asked for as a whole, a device takes the first of it. */
static void in_order(void)
{
	for (size_t i = 0; i < PAGES / 2; i++)
		(void)*(volatile char *)(p + i * PAGE);
}

int main(int argc, char **argv)
{
	int fd;

	ct_begin(argc, argv);
	fd = ct_file("f", PAGES * PAGE);
	ct_uncache(fd);
	stored(fd);
	close(fd);
	only_read("only read", nothing);
	only_read("read in order", in_order);
	return 0;
}
