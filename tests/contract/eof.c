/* SPDX-License-Identifier: MIT */
/* C01-C09: the end of the file, fixed and moving. */
#include "ct.h"

#include <sys/uio.h>

static void tail_of_last_page(void)
{
	int fd = ct_file("tail", 2 * PAGE + 100);
	char *p = ct_map(fd, 3 * PAGE, RW, MAP_SHARED, 0);
	struct stat st;

	say("C01 zero after the end: %d",
	    ct_zero(p + 2 * PAGE + 100, PAGE - 100));
	say("C01 data before it: %d", ct_matches(p, 2 * PAGE + 100, 0));
	p[2 * PAGE + 50] = 0x11;
	p[2 * PAGE + 200] = 0x22;
	say_rc("C02 msync", msync(p, 3 * PAGE, MS_SYNC));
	if (fstat(fd, &st))
		ct_die("fstat");
	say("C02 size: %ld", (long)st.st_size);
	say("C02 data: %02x", ct_in_file(fd, 2 * PAGE + 50));
	if (ftruncate(fd, 3 * PAGE))
		ct_die("ftruncate");
	say("C02 extended, read: %02x", ct_in_file(fd, 2 * PAGE + 200));
	say("C02 extended, mapped: %02x", p[2 * PAGE + 200]);
	say("C02 extended, data: %02x", p[2 * PAGE + 50]);
	munmap(p, 3 * PAGE);
	close(fd);
}

enum grow { BY_WRITE, BY_VECTOR, BY_COPY };

static void grow_by(enum grow how, int fd)
{
	off_t to = 4 * PAGE;
	char b = 1;
	struct iovec v = { &b, 1 };
	int other;

	if (how == BY_WRITE)
		ct_pwrite(fd, &b, 1, to);
	else if (how == BY_VECTOR &&
		 (lseek(fd, to, SEEK_SET) != to || writev(fd, &v, 1) != 1))
		ct_die("writev");
	else if (how == BY_COPY) {
		other = ct_file("other", 10);
		if (copy_file_range(other, &(loff_t){ 0 }, fd, &to, 1, 0) != 1)
			ct_die("copy_file_range");
		close(other);
	}
}

/* What is written behind the end leaves a hole. */
static void hole_after_tail(enum grow how)
{
	int fd = ct_file("hole", 100);
	char *p = ct_map(fd, 5 * PAGE, RW, MAP_SHARED, 0);

	p[200] = 0x22;
	say_rc("C02h msync", msync(p, PAGE, MS_SYNC));
	grow_by(how, fd);
	say("C02h mapped: %02x", p[200]);
	say("C02h read: %02x", ct_in_file(fd, 200));
	p[50] = 0x11;
	say_rc("C02h msync", msync(p, PAGE, MS_SYNC));
	say("C02h then: %02x %02x", ct_in_file(fd, 200), ct_in_file(fd, 50));
	munmap(p, 5 * PAGE);
	close(fd);
}

static void beyond(void)
{
	int fd = ct_file("beyond", PAGE + 1);
	char *s = ct_map(fd, 6 * PAGE, RW, MAP_SHARED, 0);
	char *r = ct_map(fd, 6 * PAGE, PROT_READ, MAP_SHARED, 0);
	char *p = ct_map(fd, 6 * PAGE, RW, MAP_PRIVATE, 0);

	say_load("C03 shared", s, 2 * PAGE);
	say_store("C03 shared", s, 3 * PAGE + 77);
	say_load("C03 read-only", r, 4 * PAGE + 5);
	say_store("C03 read-only store", r, 4 * PAGE + 5);
	say_load("C03 private", p, 2 * PAGE + 1);
	say_store("C03 private", p, 5 * PAGE + 4095);
	say_load("C03 last page", s, 2 * PAGE - 1);
	say_store("C03 last page", p, PAGE);
	munmap(s, 6 * PAGE);
	munmap(r, 6 * PAGE);
	munmap(p, 6 * PAGE);
	close(fd);
}

static void empty_and_growing(void)
{
	int fd = ct_file("empty", 0);
	char *p = ct_map(fd, 64 * PAGE, RW, MAP_SHARED, 0);
	char *q = ct_map(fd, 64 * PAGE, RW, MAP_PRIVATE, 0);

	say_load("C04 empty", p, 0);
	say_store("C04 empty", p, 0);
	say_load("C04 empty private", q, 0);
	ct_pwrite(fd, "hello", 5, 0);
	say_load("C05 grown by write", p, 4);
	say_load("C05 grown by write, private", q, 4);
	say_load("C05 still beyond", p, PAGE);
	if (ftruncate(fd, 3 * PAGE))
		ct_die("ftruncate");
	say_load("C05 grown by ftruncate", p, 2 * PAGE);
	say_store("C05 grown by ftruncate", p, 2 * PAGE + 8);
	say("C05 in the file: %02x", ct_in_file(fd, 2 * PAGE + 8));
	ct_pwrite(fd, "x", 1, 32 * PAGE + 7);
	say_load("C05 hole", p, 20 * PAGE);
	say_load("C05 end", p, 32 * PAGE + 7);
	if (posix_fallocate(fd, 0, 40 * PAGE))
		ct_die("posix_fallocate");
	say_store("C05 grown by fallocate", p, 39 * PAGE);
	say_load("C05 beyond fallocate", p, 40 * PAGE);
	if (truncate(ct_path("empty"), 50 * PAGE))
		ct_die("truncate");
	say_store("C05 grown by truncate", p, 49 * PAGE);
	munmap(p, 64 * PAGE);
	munmap(q, 64 * PAGE);
	close(fd);
}

static void shrinking(void)
{
	int fd = ct_file("shrink", 16 * PAGE);
	char *p = ct_map(fd, 16 * PAGE, RW, MAP_SHARED, 0);

	memset(p + 3 * PAGE, 0xaa, 2 * PAGE); /* dirty across the new end */
	p[10 * PAGE] = 1;
	if (ftruncate(fd, 3 * PAGE + 1000))
		ct_die("ftruncate");
	say_load("C06 cut off", p, 4 * PAGE);
	say_store("C06 cut off", p, 10 * PAGE);
	say("C06 earlier pages: %d", ct_matches(p, 3 * PAGE, 0));
	say("C06 head of last page: %02x %02x", (unsigned char)p[3 * PAGE],
	    (unsigned char)p[3 * PAGE + 999]);
	say("C06 tail is zero: %d", ct_zero(p + 3 * PAGE + 1000, PAGE - 1000));
	if (ftruncate(fd, 16 * PAGE))
		ct_die("ftruncate");
	say("C07 zero again, mapped: %d",
	    ct_zero(p + 3 * PAGE + 1000, 13 * PAGE - 1000));
	say("C07 zero again, read: %02x %02x", ct_in_file(fd, 3 * PAGE + 1000),
	    ct_in_file(fd, 10 * PAGE));
	say_store("C07 usable", p, 12 * PAGE);
	say("C07 in the file: %02x", ct_in_file(fd, 12 * PAGE));
	if (ftruncate(fd, 0) || ftruncate(fd, PAGE))
		ct_die("ftruncate");
	say("C07 to nothing and back: %d", ct_zero(p, PAGE));
	say_load("C07 second page", p, PAGE);
	munmap(p, 16 * PAGE);
	close(fd);
}

static void private_shrinking(void)
{
	int fd = ct_file("private", 8 * PAGE);
	char *p = ct_map(fd, 8 * PAGE, RW, MAP_PRIVATE, 0);

	p[PAGE] = 0x33;
	p[6 * PAGE] = 0x44;
	(void)ct_load(p + 5 * PAGE);
	if (ftruncate(fd, 4 * PAGE))
		ct_die("ftruncate");
	say_load("C08 own page cut off", p, 6 * PAGE);
	say_load("C08 own page before the end", p, PAGE);
	say_store("C08 clean page cut off", p, 5 * PAGE);
	if (ftruncate(fd, 8 * PAGE))
		ct_die("ftruncate");
	say_load("C08 grown: the copy is gone", p, 6 * PAGE);
	p[7 * PAGE + 10] = 0x55;
	p[7 * PAGE + 1000] = 0x66;
	if (ftruncate(fd, 7 * PAGE + 100))
		ct_die("ftruncate");
	say_load("C08 own page cut in two", p, 7 * PAGE + 10);
	say_load("C08 its part beyond the end", p, 7 * PAGE + 1000);
	munmap(p, 8 * PAGE);
	close(fd);
}

static void kernel_beyond(void)
{
	int fd = ct_file("kernel", 2 * PAGE), out = ct_file("out", 0);
	char *p = ct_map(fd, 4 * PAGE, RW, MAP_SHARED, 0);
	volatile size_t huge = SIZE_MAX / 2;
	int pipes[2];

	say_rc("C09 write from beyond", write(out, p + 3 * PAGE, 100) );
	say("C09 write across the end: %zd", write(out, p, 4 * PAGE));
	if (lseek(out, 0, SEEK_SET))
		ct_die("lseek");
	say_rc("C09 read into beyond", read(out, p + 2 * PAGE, 100));
	say("C09 read across the end: %zd", pread(out, p, 4 * PAGE, 0));
	say_rc("C09 read, more than there are addresses", read(out, p, huge));
	say_rc("C09 pread, more", pread(out, p, huge, 0));
	say_rc("C09 write, more", write(out, p, huge));
	say_rc("C09 pwrite, more", pwrite(out, p, huge, 0));
	say("C09 content: %d", ct_matches(p, 2 * PAGE, 0));
	if (pipe(pipes))
		ct_die("pipe");
	say_rc("C09 pipe write", write(pipes[1], p + 2 * PAGE, 10));
	say_rc("C09 stat into beyond",
	       stat(ct_dir, (struct stat *)(p + 2 * PAGE)));
	munmap(p, 4 * PAGE);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	tail_of_last_page();
	hole_after_tail(BY_WRITE);
	hole_after_tail(BY_VECTOR);
	hole_after_tail(BY_COPY);
	beyond();
	empty_and_growing();
	shrinking();
	private_shrinking();
	kernel_beyond();
	return 0;
}
