/* SPDX-License-Identifier: MIT */
/* V04r: a hole is made in a file where it is mapped, beside stores, a second
 * mapping, private copies and reads; at the end of the file, behind it, and in
 * two files at once. The file stays what it was otherwise, and keeps its
 * server. */
/* all ours */
#include "ct.h"

#include <pthread.h>
#include <stdatomic.h>

#define PAGES 256ul
#define LEN (PAGES * PAGE)
#define ROUNDS 200

static int fd;
static char *map, *second, *own;
static _Atomic bool stop;

static void say_bytes(const char *what)
{
	static unsigned char buf[LEN];
	unsigned file = 0, first = 0, other = 0;
	ssize_t n = pread(fd, buf, LEN, 0);

	for (ssize_t i = 0; i < n; i++) {
		file = file * 31 + buf[i];
		first = first * 31 + (unsigned char)map[i];
		other = other * 31 + (unsigned char)second[i];
	}
	say("V04r %s: %zd bytes, %08x in the file, %08x and %08x mapped", what,
	    n, file, first, other);
}

static void begin(void)
{
	fd = ct_file("f", LEN);
	map = ct_map(fd, LEN + 8 * PAGE, RW, MAP_SHARED, 0);
	second = ct_map(open(ct_path("f"), O_RDONLY), LEN, PROT_READ,
			MAP_SHARED, 0);
	own = ct_map(fd, LEN, RW, MAP_PRIVATE, 0);
	for (size_t i = 0; i < PAGES; i += 3)
		map[i * PAGE + 7] = 0x61;
	own[40 * PAGE] = 0x62;
	say_bytes("before");
}

static void hole(const char *what, size_t first, size_t pages)
{
	char line[64];

	snprintf(line, sizeof(line), "V04r %s", what);
	say_rc(line, madvise(map + first * PAGE, pages * PAGE, MADV_REMOVE));
	say_bytes(what);
}

static void stored_again(void)
{
	map[41 * PAGE + 3] = 0x63;
	say("V04r private copy: %02x, beside it %02x", own[40 * PAGE],
	    own[41 * PAGE + 3]);
	say_bytes("stored to again");
	say_rc("V04r sync", msync(map, LEN, MS_SYNC));
	say_bytes("synced");
}

static void refused(void)
{
	say_rc("V04r private", madvise(own, PAGE, MADV_REMOVE));
	say_rc("V04r only read", madvise(second, 2 * PAGE, MADV_REMOVE));
	say_rc("V04r length 0", madvise(map, 0, MADV_REMOVE));
	say_bytes("refused");
}

/* Pages of one file, a hole in the address space, pages of another. */
static void two_files(void)
{
	const int other = ct_file("g", 16 * PAGE);
	char *m = ct_map(fd, 48 * PAGE, RW, MAP_SHARED, 0);
	unsigned sum = 0;

	mmap(m + 16 * PAGE, 16 * PAGE, RW, MAP_SHARED | MAP_FIXED, other, 0);
	munmap(m + 32 * PAGE, 4 * PAGE);
	m[20 * PAGE] = 0x64;
	say_rc("V04r two files",
	       madvise(m + 10 * PAGE, 30 * PAGE, MADV_REMOVE));
	for (off_t i = 0; i < 16; i++)
		sum += (unsigned)ct_in_file(other, i * (off_t)PAGE);
	say("V04r in the other: %u", sum);
	say_bytes("two files");
	munmap(m, 48 * PAGE);
	close(other);
}

static void *stores(void *wrong)
{
	for (unsigned i = 0; !stop; i++) {
		volatile unsigned char *p =
			(unsigned char *)map + (100 + i % 50) * PAGE;

		*p = 0x65;
		if (*p != 0x65 && *p != 0)
			++*(unsigned *)wrong;
	}
	return NULL;
}

/* Afterwards a page is as it was stored to, or a hole. */
static void beside_stores(void)
{
	unsigned wrong = 0, differ = 0;
	pthread_t t;

	pthread_create(&t, NULL, stores, &wrong);
	for (int i = 0; i < ROUNDS; i++)
		if (madvise(map + 90 * PAGE, 80 * PAGE, MADV_REMOVE))
			ct_die("madvise");
	stop = true;
	pthread_join(t, NULL);
	for (size_t i = 90; i < 170; i++)
		differ += ct_in_file(fd, (off_t)(i * PAGE)) !=
				  (unsigned char)map[i * PAGE] ||
			  !ct_zero(map + i * PAGE + 1, PAGE - 1);
	say("V04r beside stores: %u wrong, %u differ", wrong, differ);
}

int main(int argc, char **argv)
{
	struct stat st;

	ct_begin(argc, argv);
	begin();
	hole("in the middle", 20, 100);
	stored_again();
	hole("to the end", PAGES - 10, 10);
	hole("behind it", PAGES - 2, 6);
	refused();
	two_files();
	beside_stores();
	hole("all of it", 0, PAGES);
	fstat(fd, &st);
	say("V04r left: %ld bytes", (long)st.st_size);
	return 0;
}
