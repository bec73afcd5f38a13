/* SPDX-License-Identifier: MIT */
/* C20, C21, C25: holes, ranges that vanish or appear, large sparse files. */
#include "ct.h"

static char *p;
static int fd;

/* One letter per page: f + original page number if it is a moved pattern
 * page, 0: zero. */
static void say_pages(const char *what, int pages)
{
	char line[128] = { 0 };
	int n = 0;

	for (int i = 0; i < pages; i++) {
		int c = ct_load(p + (size_t)i * PAGE);

		line[n] = '?';
		if (c < 0)
			line[n] = 'B';
		else if (ct_zero(p + (size_t)i * PAGE, PAGE))
			line[n] = '0';
		for (int k = 0; c >= 0 && k < 16; k++)
			if (ct_matches(p + (size_t)i * PAGE, PAGE,
				       (uint64_t)k * PAGE))
				line[n] = (char)('a' + k);
		n++;
	}
	say("%s: %s", what, line);
}

static void change(const char *what, int how, int first, int count)
{
	int r = fallocate(fd, how, first * (off_t)PAGE, count * (off_t)PAGE);

	say_rc(what, r);
	say_pages(what, 20);
}

static void ranges(void)
{
	fd = ct_file("ranges", 16 * PAGE);
	p = ct_map(fd, 20 * PAGE, RW, MAP_SHARED, 0);
	say_pages("C20 before", 20);
	p[3 * PAGE] ^= 1; /* dirty pages go with the hole */
	change("C20 punch", FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 2, 3);
	change("C20 zero", FALLOC_FL_ZERO_RANGE, 8, 2);
	p[12 * PAGE] ^= 1;
	p[12 * PAGE] ^= 1;
	change("C20 collapse", FALLOC_FL_COLLAPSE_RANGE, 10, 2);
	change("C20 insert", FALLOC_FL_INSERT_RANGE, 1, 4);
	p[5 * PAGE] = 0x44;
	say("C20 store after insert: %02x", ct_in_file(fd, 5 * PAGE));
	if (fallocate(fd, FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE, 100,
		      5000))
		ct_die("punch");
	say("C20 unaligned punch: %d %d", ct_matches(p, 100, 0),
	    ct_zero(p + 100, 5000));
	munmap(p, 20 * PAGE);
	close(fd);
}

static void allocation(void)
{
	struct stat before, after;

	fd = ct_file("holes", 0);
	if (ftruncate(fd, 256 * PAGE))
		ct_die("ftruncate");
	p = ct_map(fd, 256 * PAGE, RW, MAP_SHARED, 0);
	say("C21 hole reads zero: %d", ct_zero(p, 64 * PAGE));
	fstat(fd, &before);
	for (int i = 0; i < 64; i++)
		p[i * 4 * (int)PAGE] = (char)(i + 1);
	if (msync(p, 256 * PAGE, MS_SYNC))
		ct_die("msync");
	fstat(fd, &after);
	say("C21 blocks before: %ld", (long)before.st_blocks);
	say("C21 grown enough: %d, not everything: %d",
	    after.st_blocks >= 64 * 8, after.st_blocks < 256 * 8);
	say("C21 content: %d %d", ct_in_file(fd, 252 * PAGE), p[252 * PAGE]);
	say("C21 still a hole: %d", ct_in_file(fd, PAGE));
	munmap(p, 256 * PAGE);
	close(fd);
}

static void large(void)
{
	off_t end = ((off_t)6 << 30) + 1000;
	size_t len = 4 * PAGE;

	fd = ct_file("large", 0);
	if (ftruncate(fd, end))
		ct_die("ftruncate");
	p = mmap(NULL, (size_t)end, RW, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		ct_die("mmap");
	say("C25 zero at 3 GiB: %d", p[(size_t)3 << 30]);
	p[((size_t)3 << 30) + 5] = 0x31;
	p[end - 1] = 0x32;
	say("C25 file at 3 GiB: %02x", ct_in_file(fd, ((off_t)3 << 30) + 5));
	say("C25 last byte: %02x", ct_in_file(fd, end - 1));
	say("C25 tail of last page: %d", p[end]);
	say_rc("C25 msync", msync(p, (size_t)end, MS_SYNC));
	munmap(p, (size_t)end);
	p = ct_map(fd, len, RW, MAP_SHARED, (off_t)6 << 30);
	say("C25 window at 6 GiB: %02x", p[999]);
	say_load("C25 beyond", p, PAGE);
	munmap(p, len);
	close(fd);
	unlink(ct_path("large"));
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	ranges();
	allocation();
	large();
	return 0;
}
