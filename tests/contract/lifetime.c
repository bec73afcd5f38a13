/* SPDX-License-Identifier: MIT */
/* C16-C18, C24: a mapping outlives descriptors and names. */
#include "ct.h"

#include <sys/statvfs.h>

static void closed(void)
{
	int fd = ct_file("closed", 32 * PAGE);
	char *p = ct_map(fd, 32 * PAGE, RW, MAP_SHARED, 0);

	p[3] = 0x41;
	close(fd);
	p[17 * PAGE] = 0x42;
	say("C16 content: %d", ct_matches(p + 18 * PAGE, 14 * PAGE, 18 * PAGE));
	say_rc("C16 msync", msync(p, 32 * PAGE, MS_SYNC));
	munmap(p, 32 * PAGE);
	fd = open(ct_path("closed"), O_RDONLY);
	say("C16 in the file: %02x %02x", ct_in_file(fd, 3),
	    ct_in_file(fd, 17 * PAGE));
	close(fd);
}

/* Large, so that what others do on the file system does not matter. */
static void unlinked(void)
{
	size_t len = 256ul << 20;
	unsigned long blocks;
	struct statvfs during, after;
	int fd = ct_file("unlinked", 64 * PAGE), bad = 0;
	char *p;

	if (posix_fallocate(fd, 0, (off_t)len))
		ct_die("posix_fallocate");
	p = ct_map(fd, len, RW, MAP_SHARED, 0);
	p[5 * PAGE] = 0x51;
	if (unlink(ct_path("unlinked")))
		ct_die("unlink");
	close(fd);
	say("C17 store kept: %02x", (unsigned char)p[5 * PAGE]);
	for (size_t i = 0; i < 64; i++)
		p[i * PAGE + 1] = (char)i;
	p[len - 1] = 0x52;
	for (size_t i = 0; i < 64; i++)
		bad += p[i * PAGE + 1] != (char)i || (i != 5 &&
			(unsigned char)p[i * PAGE] != ct_byte(i * PAGE));
	say("C17 wrong pages: %d %02x", bad, p[len - 1]);
	say_rc("C17 msync", msync(p, len, MS_SYNC));
	statvfs(ct_dir, &during);
	blocks = (200ul << 20) / during.f_frsize;
	munmap(p, len);
	for (int i = 0; i < 200; i++) { /* the file system may take a moment */
		statvfs(ct_dir, &after);
		if (after.f_bfree >= during.f_bfree + blocks)
			break;
		usleep(10000);
	}
	say("C17 space is freed: %d", after.f_bfree >= during.f_bfree + blocks);
}

static void renamed(void)
{
	int fd = ct_file("name", 16 * PAGE), other;
	char *p = ct_map(fd, 16 * PAGE, RW, MAP_SHARED, 0), *q;
	int number = fd;

	if (rename(ct_path("name"), ct_path("name2")) ||
	    link(ct_path("name2"), ct_path("name3")))
		ct_die("rename");
	p[2 * PAGE] = 0x61;
	fd = open(ct_path("name3"), O_RDWR);
	say("C18 hard link sees the store: %02x", ct_in_file(fd, 2 * PAGE));
	ct_pwrite(fd, "\x62", 1, 3 * PAGE);
	say("C18 map sees the hard link's write: %02x", p[3 * PAGE]);
	other = ct_file("other", 4 * PAGE);
	ct_pwrite(other, "\x63", 1, 0);
	if (dup2(other, number) != number)
		ct_die("dup2");
	say("C18 descriptor reused, map unchanged: %d", ct_matches(p, PAGE, 0));
	p[10 * PAGE] = 0x64;
	say_rc("C18 msync", msync(p, 16 * PAGE, MS_SYNC));
	say("C18 in the right file: %02x", ct_in_file(fd, 10 * PAGE));
	q = ct_map(number, 4 * PAGE, RW, MAP_SHARED, 0);
	say("C18 new file behind the number: %02x", q[0]);
	munmap(p, 16 * PAGE);
	munmap(q, 4 * PAGE);
	close(fd);
	close(other);
	close(number);
}

/* A name that is created anew is another file. */
static void recreated(void)
{
	int fd = ct_file("again", 8 * PAGE);
	char *p = ct_map(fd, 8 * PAGE, RW, MAP_SHARED, 0);
	char *q;
	int fd2;

	p[0] = 0x71;
	unlink(ct_path("again"));
	fd2 = ct_file("again", 8 * PAGE);
	q = ct_map(fd2, 8 * PAGE, RW, MAP_SHARED, 0);
	say("C18 old map %02x, new map is new %d", p[0],
	    ct_matches(q, 8 * PAGE, 0));
	q[1] = 0x72;
	say("C18 old map unaffected: %d", (unsigned char)p[1] == ct_byte(1));
	close(fd);
	close(fd2);
	munmap(p, 8 * PAGE);
	munmap(q, 8 * PAGE);
}

static void fresh_address(void)
{
	int f = ct_file("f1", 8 * PAGE), g = ct_file("f2", 8 * PAGE), bad = 0;
	char *p = ct_map(f, 8 * PAGE, RW, MAP_SHARED, 0);

	for (int i = 0; i < 20; i++) {
		int fd = i & 1 ? f : g;
		char c = (char)(i | 1);

		ct_pwrite(fd, &c, 1, 2 * PAGE);
		munmap(p, 8 * PAGE);
		p = mmap(p, 8 * PAGE, RW, MAP_SHARED | MAP_FIXED, fd, 0);
		if (p == MAP_FAILED)
			ct_die("mmap");
		bad += p[2 * PAGE] != c;
		p[3 * PAGE] = c;
	}
	say("C24 stale bytes: %d", bad);
	say("C24 last stores: %d %d", ct_in_file(f, 3 * PAGE),
	    ct_in_file(g, 3 * PAGE));
	p = mmap(p, 8 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1,
		 0);
	say("C24 anonymous is zero: %d", ct_zero(p, 8 * PAGE));
	p[0] = 1;
	say("C24 and not the file's: %d", ct_in_file(f, 0) == ct_byte(0));
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	closed();
	unlinked();
	renamed();
	recreated();
	fresh_address();
	return 0;
}
