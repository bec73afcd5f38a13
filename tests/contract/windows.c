/* SPDX-License-Identifier: MIT */
/* U08: a file that is never mapped whole, in small windows one after the other,
 * read and stored to, while read, write and ftruncate work on it as well. */
#include "ct.h"

#define FILE_PAGES 301ul
#define WINDOW 16ul
#define KEPT 4
#define ROUNDS 3000

static unsigned char model[(FILE_PAGES + WINDOW) * PAGE];
static size_t size = FILE_PAGES * PAGE - 77;
static struct { char *p; size_t off, len; bool shared; } kept[KEPT];
static uint64_t seed = 42;
static int fd;

static size_t rnd(size_t n)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (size_t)(seed >> 33) % n;
}

static void wrong(const char *what, size_t off, int got)
{
	say("U08 %s at %zu: %02x, should be %02x", what, off, got, model[off]);
	exit(1);
}

/* A window in place of an older one. */
static void move(int k)
{
	size_t pages = 1 + rnd(WINDOW);

	if (kept[k].p)
		munmap(kept[k].p, kept[k].len);
	kept[k].off = rnd((size - 1) / PAGE + 1) * PAGE;
	kept[k].len = pages * PAGE;
	kept[k].shared = rnd(4) > 0;
	kept[k].p = ct_map(fd, kept[k].len, RW, kept[k].shared ?
			   MAP_SHARED : MAP_PRIVATE, (off_t)kept[k].off);
}

static size_t inside(int k)
{
	size_t n = size - kept[k].off;

	return kept[k].off + rnd(n < kept[k].len ? n : kept[k].len);
}

static void touch(int k)
{
	size_t off = inside(k);
	volatile char *p = kept[k].p + (off - kept[k].off);

	if (kept[k].shared && rnd(3) == 0)
		*p = (char)(model[off] = (unsigned char)rnd(256));
	else if ((unsigned char)*p != model[off])
		wrong("load", off, (unsigned char)*p);
}

static void by_call(void)
{
	size_t off = rnd(size);
	unsigned char b = (unsigned char)rnd(256);

	if (rnd(2)) {
		ct_pwrite(fd, &b, 1, (off_t)off);
		model[off] = b;
	} else if (ct_in_file(fd, (off_t)off) != model[off]) {
		wrong("read", off, ct_in_file(fd, (off_t)off));
	}
}

/* Shorter, and back: what is cut off comes back as zeroes. */
static void resize(void)
{
	size_t less = size - 3 * PAGE;

	for (int k = 0; k < KEPT; k++) {
		munmap(kept[k].p, kept[k].len);
		kept[k].p = NULL;
	}
	if (ftruncate(fd, (off_t)less) || ftruncate(fd, (off_t)size))
		ct_die("ftruncate");
	memset(model + less, 0, size - less);
	for (int k = 0; k < KEPT; k++)
		move(k);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	fd = ct_file("windows", size);
	for (size_t i = 0; i < size; i++)
		model[i] = ct_byte(i);
	for (int k = 0; k < KEPT; k++)
		move(k);
	for (int i = 1; i <= ROUNDS; i++) {
		move((int)rnd(KEPT));
		for (size_t n = rnd(12); n; n--)
			touch((int)rnd(KEPT));
		if (i % 5 == 0)
			by_call();
		if (i % 500 == 0)
			resize();
	}
	for (size_t off = 0; off < size; off += 61)
		if (ct_in_file(fd, (off_t)off) != model[off])
			wrong("file", off, ct_in_file(fd, (off_t)off));
	say("U08 small windows: all as stored");
	return 0;
}
