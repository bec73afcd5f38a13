/* SPDX-License-Identifier: MIT */
/* AP07: what is read ahead of a reader is no more than it has said, however
 * long it reads; what has been read is counted. */
#include "api.h"

#define PAGES 4096
#define READ 1024
#define DEPTH (256ul << 10)
#define SLACK (128ul << 10) /* what one fault brings with it */

static struct fastmap_stat numbers(void)
{
	struct fastmap_stat s = { 0 };

	fastmap_stat(&s, sizeof(s));
	return s;
}

/* Some for 64 KiB and more, where an eighth of the cache is as much, not most
 * for a page; a neighbour may come with each miss anyhow. */
static int as_said(const struct fastmap_stat *before, uint64_t depth)
{
	const struct fastmap_stat now = numbers();
	const uint64_t ahead = now.ahead_pages - before->ahead_pages;

	return !now.engine_files || now.cache_limit < 1 << 20 ||
	       ((ahead || depth < 64 << 10) &&
		(ahead <= READ * 3 / 4 || depth > PAGE));
}

/* In order, from a place where nobody has been. */
static void reader(const char *p, const char *what, int pattern, uint64_t depth)
{
	const struct fastmap_range all = { (void *)p, PAGES * PAGE };
	const struct fastmap_stat before = numbers();
	int right = 0;

	say("AP07 %s: %s", what,
	    api_rc(fastmap_advise(&all, 1, pattern, depth)));
	for (size_t i = 0; i < READ; i++)
		right += ct_load(p + i * PAGE + 7) == ct_byte(i * PAGE + 7);
	usleep(100000); /* what is under way comes, too */
	say("AP07 %s: bytes %d, not too many %d, as much ahead as said %d", what,
	    right == READ,
	    numbers().read_bytes - before.read_bytes <=
		    READ * PAGE + depth + SLACK,
	    as_said(&before, depth));
}

/* Mapped anew: a reader without a past. */
static void again(int fd, const char *what, int pattern, uint64_t depth)
{
	char *p = api_map(fd, PAGES * PAGE, PROT_READ, MAP_SHARED);
	const struct fastmap_range all = { p, PAGES * PAGE };

	fastmap_release(&all, 1);
	reader(p, what, pattern, depth);
	munmap(p, PAGES * PAGE);
}

int main(int argc, char **argv)
{
	const struct fastmap_range none = { NULL, 0 };
	int fd;

	ct_begin(argc, argv);
	fd = ct_file("f", PAGES * PAGE);
	fdatasync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	again(fd, "normal", FASTMAP_NORMAL, DEPTH);
	again(fd, "sequential", FASTMAP_SEQUENTIAL, DEPTH);
	again(fd, "small", FASTMAP_NORMAL, 64 << 10);
	again(fd, "smallest", FASTMAP_SEQUENTIAL, 2 * PAGE);
	again(fd, "none", FASTMAP_SEQUENTIAL, 1);
	say("AP07 nothing: %s",
	    api_rc(fastmap_advise(&none, 1, FASTMAP_NORMAL, DEPTH)));
	return 0;
}
