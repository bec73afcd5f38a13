/* SPDX-License-Identifier: MIT */
/* C10-C13, C27: mappings of one file and its descriptors agree at once. */
#include "ct.h"

#include <sys/uio.h>

static void two_maps(void)
{
	int fd = ct_file("two", 64 * PAGE);
	int fd2 = open(ct_path("two"), O_RDWR);
	char *a = ct_map(fd, 64 * PAGE, RW, MAP_SHARED, 0);
	char *b = ct_map(fd2, 32 * PAGE, RW, MAP_SHARED, 16 * PAGE);
	char *r = ct_map(fd, 64 * PAGE, PROT_READ, MAP_SHARED, 0);
	int bad = 0;

	for (int i = 0; i < 1000; i++) {
		size_t at = (size_t)(i * 37 % 32) * PAGE + (size_t)i;

		a[16 * PAGE + at] = (char)i;
		bad += b[at] != (char)i;
		b[at + 1] = (char)(i + 1);
		bad += a[16 * PAGE + at + 1] != (char)(i + 1);
		bad += r[16 * PAGE + at] != (char)i;
	}
	say("C10 disagreements: %d", bad);
	say("C10 untouched rest: %d %d", ct_matches(a, 16 * PAGE, 0),
	    ct_matches(r + 48 * PAGE, 16 * PAGE, 48 * PAGE));
	munmap(a, 64 * PAGE);
	b[5] = 0x66;
	say("C10 after one is unmapped: %02x", r[16 * PAGE + 5]);
	munmap(b, 32 * PAGE);
	munmap(r, 64 * PAGE);
	close(fd);
	close(fd2);
}

static void with_files(void)
{
	int fd = ct_file("io", 64 * PAGE);
	char *p = ct_map(fd, 64 * PAGE, RW, MAP_SHARED, 0);
	int bad_read = 0, bad_write = 0;

	for (int i = 0; i < 500; i++) {
		off_t at = (off_t)(i * 41 % 64) * (off_t)PAGE + i;
		unsigned char c = (unsigned char)(i + 3), d = (unsigned char)~c;

		p[at] = (char)c;
		bad_read += ct_in_file(fd, at) != c;
		ct_pwrite(fd, &d, 1, at + 1);
		bad_write += (unsigned char)p[at + 1] != d;
	}
	say("C11 stores that read(2) missed: %d", bad_read);
	say("C11 writes that the map missed: %d", bad_write);
	munmap(p, 64 * PAGE);
	close(fd);
}

static void direct(void)
{
	int fd = ct_file("direct", 16 * PAGE);
	int dfd = open(ct_path("direct"), O_RDWR | O_DIRECT);
	char *p = ct_map(fd, 16 * PAGE, RW, MAP_SHARED, 0);
	char *buf =
		mmap(NULL, 4 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (dfd < 0) {
		say("C12 no O_DIRECT here");
		return;
	}
	p[4 * PAGE] = 1; /* dirty, about to be overwritten */
	p[9 * PAGE] = 2;
	memset(buf, 0xd1, 4 * PAGE);
	say("C12 direct write: %zd", pwrite(dfd, buf, 4 * PAGE, 3 * PAGE));
	say("C12 in the map: %02x %02x %02x", (unsigned char)p[3 * PAGE],
	    (unsigned char)p[4 * PAGE], (unsigned char)p[7 * PAGE - 1]);
	say("C12 neighbours: %d %d", ct_matches(p + 2 * PAGE, PAGE, 2 * PAGE),
	    ct_matches(p + 7 * PAGE, PAGE, 7 * PAGE));
	say("C12 direct read: %zd", pread(dfd, buf, 2 * PAGE, 8 * PAGE));
	say("C12 sees the store: %02x", (unsigned char)buf[PAGE]);
	munmap(p, 16 * PAGE);
	close(fd);
	close(dfd);
}

static void own_buffer(void)
{
	int fd = ct_file("own", 32 * PAGE);
	char *p = ct_map(fd, 32 * PAGE, RW, MAP_SHARED, 0);
	struct iovec v[2] = { { p + 20 * PAGE, PAGE }, { p + 25 * PAGE, 100 } };

	say("C13 write from the map: %zd",
	    pwrite(fd, p, 3 * PAGE, 8 * PAGE + 10));
	say("C13 content: %d", ct_matches(p + 8 * PAGE + 10, 3 * PAGE, 0));
	say("C13 read into the map: %zd",
	    pread(fd, p + 16 * PAGE, 2 * PAGE, PAGE));
	say("C13 content: %d", ct_matches(p + 16 * PAGE, 2 * PAGE, PAGE));
	say("C13 same page: %zd",
	    pwrite(fd, p + 5 * PAGE, 100, 5 * PAGE + 200));
	say("C13 content: %d", ct_matches(p + 5 * PAGE + 200, 100, 5 * PAGE));
	say("C13 onto itself: %zd", pwrite(fd, p + 6 * PAGE, PAGE, 6 * PAGE));
	say("C13 content: %d", ct_matches(p + 6 * PAGE, PAGE, 6 * PAGE));
	say("C13 readv: %zd", preadv(fd, v, 2, 0));
	say("C13 content: %d %d", ct_matches(p + 20 * PAGE, PAGE, 0),
	    ct_matches(p + 25 * PAGE, 100, PAGE));
	say("C13 in the file: %d", ct_in_file(fd, 25 * PAGE) == ct_byte(PAGE));
	munmap(p, 32 * PAGE);
	close(fd);
}

static void offset_unmoved(void)
{
	int fd = ct_file("offset", 32 * PAGE);
	char *p = ct_map(fd, 32 * PAGE, RW, MAP_SHARED, 0);
	struct stat st;
	char b[10];

	if (lseek(fd, 12345, SEEK_SET) < 0)
		ct_die("lseek");
	for (int i = 0; i < 32; i++)
		p[i * (int)PAGE] ^= 1;
	say("C27 offset after faults: %ld", (long)lseek(fd, 0, SEEK_CUR));
	msync(p, 32 * PAGE, MS_SYNC);
	say("C27 offset after msync: %ld", (long)lseek(fd, 0, SEEK_CUR));
	say("C27 read: %zd, offset %ld", read(fd, b, 10),
	    (long)lseek(fd, 0, SEEK_CUR));
	say("C27 write: %zd, offset %ld", write(fd, b, 10),
	    (long)lseek(fd, 0, SEEK_CUR));
	if (fstat(fd, &st))
		ct_die("fstat");
	say("C27 size: %ld, mapped write: %d", (long)st.st_size,
	    !memcmp(p + 12355, b, 10));
	say("C27 end: %ld", (long)lseek(fd, 0, SEEK_END));
	munmap(p, 32 * PAGE);
	close(fd);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	two_maps();
	with_files();
	direct();
	own_buffer();
	offset_unmoved();
	return 0;
}
