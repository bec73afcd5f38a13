/* SPDX-License-Identifier: MIT */
/* U08: a file that is never mapped whole, in small windows one after the other,
 * read and stored to, while read, write and ftruncate work on it as well. Once
 * with stores from the start, once after a long time of windows that can only
 * be read, which the page cache may serve: what lives on of them must show the
 * stores too. */
/* env: FASTMAP_WARM=auto */
#include "ct.h"

#define FILE_PAGES 301ul
#define WINDOW 16ul
#define KEPT 6
#define ROUNDS 2000

static unsigned char model[(FILE_PAGES + WINDOW) * PAGE];
static const size_t size = FILE_PAGES * PAGE - 77;
static struct { char *p; size_t off, len; bool shared, writable; } kept[KEPT];
static uint64_t seed = 42;
static int fd, fd_ro;
static bool stores;
static volatile unsigned char *whole; /* beside the windows, or NULL */

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
	kept[k].writable = kept[k].shared && stores && rnd(2);
	kept[k].p = ct_map(kept[k].writable ? fd : fd_ro, kept[k].len,
			   kept[k].writable || !kept[k].shared ? RW : PROT_READ,
			   kept[k].shared ? MAP_SHARED : MAP_PRIVATE,
			   (off_t)kept[k].off);
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

	if (kept[k].writable && rnd(3) < 2)
		*p = (char)(model[off] = (unsigned char)rnd(256));
	else if ((unsigned char)*p != model[off])
		wrong("load", off, (unsigned char)*p);
	if (whole && kept[k].shared && whole[off] != model[off])
		wrong("load of the whole", off, whole[off]);
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

static void run(const char *name, int stores_from, bool with_whole)
{
	char path[4096];

	fd = ct_file(name, size);
	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	fd_ro = open(path, O_RDONLY);
	for (size_t i = 0; i < size; i++)
		model[i] = ct_byte(i);
	memset(kept, 0, sizeof(kept));
	ct_uncache(fd);
	whole = with_whole ? (void *)ct_map(fd_ro, size, PROT_READ, MAP_SHARED,
					    0) : NULL;
	for (int i = 0; i < ROUNDS; i++) {
		stores = i >= stores_from;
		move(i < KEPT ? i : (int)rnd(KEPT));
		for (size_t n = rnd(12); n && i >= KEPT; n--)
			touch((int)rnd(KEPT));
		if (i % 5 == 0)
			by_call();
		if (i % 500 == 499)
			resize();
	}
	for (size_t off = 0; off < size; off += 61)
		if (ct_in_file(fd, (off_t)off) != model[off])
			wrong("file", off, ct_in_file(fd, (off_t)off));
	for (int k = 0; k < KEPT; k++)
		munmap(kept[k].p, kept[k].len);
	if (whole)
		munmap((void *)(uintptr_t)whole, size);
	close(fd_ro);
	close(fd);
	say("U08 small windows, %s: all as stored", name);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	run("windows", 0, false);
	run("windows-late", 1200, false);
	run("windows-beside", 1200, true);
	return 0;
}
