/* SPDX-License-Identifier: MIT */
/*
 * datafile.c - make a bench file, and check one against what a run says it
 * stored. Plain read(2) and write(2), never mmap, so that the check does not
 * depend on what it checks.
 *
 *   datafile create FILE SIZE
 *   datafile check FILE MAXGEN [WRITTEN GEN [all]]
 *
 * With WRITTEN (mapload --written): the touched word of every page in that
 * bitmap must carry GEN ("all": every word must). Any other word may carry
 * any generation up to MAXGEN.
 */
#include "content.h"
#include "help.h"
#include "measure.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define CHUNK (4u << 20)

struct expect {
	uint64_t max_gen, gen, nbits;
	const uint64_t *written;
	bool all;
};

static void fail(const char *what)
{
	perror(what);
	exit(1);
}

static void *buffer(void)
{
	void *p = aligned_alloc(PAGE, CHUNK);

	if (!p)
		fail("buffer");
	return p;
}

static int create(const char *path, uint64_t size)
{
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_DIRECT | O_CLOEXEC,
		      0644);
	char *buf = buffer();

	if (fd < 0) /* a file system without direct I/O */
		fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0 || posix_fallocate(fd, 0, (off_t)size))
		fail(path);
	for (uint64_t off = 0; off < size; off += CHUNK) {
		uint64_t n = size - off < CHUNK ? size - off : CHUNK;

		fill_words(buf, CHUNK, off, 0);
		if (pwrite(fd, buf, n, (off_t)off) != (ssize_t)n)
			fail(path);
	}
	if (fsync(fd) || close(fd))
		fail(path);
	return 0;
}

static uint64_t *read_bitmap(const char *path, uint64_t *ret_bits)
{
	struct stat st;
	uint64_t *bits;
	FILE *f = fopen(path, "re");

	if (!f || fstat(fileno(f), &st))
		fail(path);
	bits = malloc((size_t)st.st_size + 8);
	if (!bits ||
	    fread(bits, 1, (size_t)st.st_size, f) != (size_t)st.st_size)
		fail(path);
	fclose(f);
	*ret_bits = (uint64_t)st.st_size * 8;
	return bits;
}

static bool was_written(const struct expect *e, uint64_t page)
{
	return page < e->nbits && (e->written[page / 64] >> (page % 64) & 1);
}

/* Counts words of one page that are wrong, or stale where it was stored to. */
static uint64_t check_page(const struct expect *e, const uint64_t *p,
			   uint64_t page)
{
	bool stored = e->written && was_written(e, page);
	unsigned touched = touched_word(page);
	uint64_t bad = 0;

	for (unsigned i = 0; i < PAGE_WORDS; i++) {
		uint64_t off = page * PAGE + i * 8, g = p[i] ^ word_at(off);
		bool must = stored && (e->all || i == touched);

		bad += must ? g != e->gen : g > e->max_gen;
	}
	return bad;
}

static int check(const char *path, const struct expect *e)
{
	int fd = open(path, O_RDONLY | O_DIRECT | O_CLOEXEC);
	uint64_t pages = 0, bad = 0, bad_pages = 0, first = 0, stored = 0;
	char *buf = buffer();
	ssize_t n;

	if (fd < 0)
		fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0)
		fail(path);
	while ((n = read(fd, buf, CHUNK)) > 0)
		for (ssize_t at = 0; at + PAGE <= n; at += PAGE, pages++) {
			uint64_t b = check_page(e, (void *)(buf + at), pages);

			if (b && !bad_pages++)
				first = pages;
			bad += b;
			stored += e->written && was_written(e, pages);
		}
	if (n < 0)
		fail(path);
	printf("{\"pages\":%lu,\"stored_pages\":%lu,\"bad_words\":%lu,"
	       "\"bad_pages\":%lu,\"first_bad_page\":%lu}\n",
	       pages, stored, bad, bad_pages, first);
	return bad != 0;
}

int main(int argc, char **argv)
{
	struct expect e = { 0 };

	help(argc, argv, 4,
	     "usage: datafile create FILE SIZE\n"
	     "       datafile check FILE MAXGEN [WRITTEN GEN [all]]\n");
	if (argc == 4 && !strcmp(argv[1], "create"))
		return create(argv[2], parse_size(argv[3]));
	if (strcmp(argv[1], "check")) {
		fprintf(stderr, "datafile: no command %s\n", argv[1]);
		return 2;
	}
	e.max_gen = parse_size(argv[3]);
	if (argc > 5) {
		e.written = read_bitmap(argv[4], &e.nbits);
		e.gen = parse_size(argv[5]);
		e.all = argc > 6;
	}
	return check(argv[2], &e);
}
