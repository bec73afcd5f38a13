/* SPDX-License-Identifier: MIT */
/* C14r: a read into a private mapping that ends before its buffer does makes
 * only those pages the program's own which it has filled: the others go on
 * showing the file. */
#include "ct.h"

#include <sys/uio.h>

#define N 16

static char *map;
static int fd, from;

static void fill(int to, size_t pages, char with)
{
	char buf[PAGE];

	memset(buf, with, sizeof(buf));
	for (size_t p = 0; p < pages; p++)
		ct_pwrite(to, buf, PAGE, (off_t)(p * PAGE));
}

/* What each page shows, once the file is another. */
static void show(const char *what, ssize_t n)
{
	char text[N + 1] = "";

	fill(fd, N, 'n');
	for (int p = 0; p < N; p++) {
		const char c = map[(size_t)p * PAGE + 100];

		text[p] = c ? c : '.';
	}
	say("C14r %s: %zd %s", what, n, text);
	fill(fd, N, 'o');
	madvise(map, N * PAGE, MADV_DONTNEED);
}

/* src has five pages and a half behind `off`, or less. */
static void reads(const char *name, int src)
{
	struct iovec v[2] = { { map + 100, 6 * PAGE },
			      { map + 9 * PAGE, PAGE } };
	char text[64];

	for (int k = 0; k < 3; k++) {
		const off_t off = (off_t)(k == 0 ? 0 : k == 1 ? 5 * PAGE :
								8 * PAGE);

		snprintf(text, sizeof(text), "%s pread from %d", name, k);
		show(text, pread(src, map, N * PAGE, off));
		lseek(src, off, SEEK_SET);
		snprintf(text, sizeof(text), "%s read from %d", name, k);
		show(text, read(src, map + 10, 12 * PAGE));
		snprintf(text, sizeof(text), "%s preadv from %d", name, k);
		show(text, preadv(src, v, 2, off));
	}
}

static void streams(const char *name)
{
	FILE *f = fopen(name, "r");

	show("fread", (ssize_t)fread(map + 10, 1, N * PAGE - 10, f));
	say("C14r eof %d", feof(f) != 0);
	show("fread at the end", (ssize_t)fread(map, 1, N * PAGE, f));
	fseek(f, (long)(4 * PAGE), SEEK_SET);
	say("C14r %c", ungetc(fgetc(f), f));
	show("fread pushed back", (ssize_t)fread(map, PAGE, N, f));
	fclose(f);
}

/* It ends at a page that may not be stored to. */
static void denied(int src)
{
	if (mprotect(map + 3 * PAGE, PAGE, PROT_READ))
		ct_die("mprotect");
	lseek(src, 0, SEEK_SET);
	show("denied", read(src, map, 8 * PAGE));
	say("C14r position %ld", (long)lseek(src, 0, SEEK_CUR));
	lseek(src, (off_t)(8 * PAGE), SEEK_SET);
	show("denied at the end", read(src, map, 8 * PAGE));
	mprotect(map + 3 * PAGE, PAGE, RW);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	fd = ct_file("mapped", N);
	from = ct_file("from", 0);
	fill(from, 5, 'f');
	ct_pwrite(from, "half", 4, (off_t)(5 * PAGE + PAGE / 2 - 4));
	fill(fd, N, 'o');
	map = ct_map(fd, N * PAGE, RW, MAP_PRIVATE, 0);
	reads("another file", from);
	denied(from);
	streams(ct_path("from"));
	from = open("/proc/version", O_RDONLY); /* alike in each process */
	show("proc", read(from, map, N * PAGE) > 0);
	from = open("/dev/null", O_RDONLY);
	show("null", read(from, map, N * PAGE));
	return 0;
}
