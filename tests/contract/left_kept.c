/* SPDX-License-Identifier: MIT */
/* U15: mappings that are too short for us and were made without a look at the
 * file, while we served nothing: by a descriptor that has become another file
 * by system calls that nobody hears of, kept, moved by mremap, and its address
 * used again. Then all of the file is mapped and stored to: each shows the
 * stores of the other. So do mappings of files that were never looked at, after
 * many of others, while we serve nothing and while we serve another file. */
/* env: FASTMAP_MIN_SIZE=1M */
/* env: FASTMAP_WARM=engine */
#include "ct.h"

#include <sys/syscall.h>

#define PAGES 512ul
#define KEPT 24

static long by_number(long nr, long a, long b)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"(nr), "D"(a), "S"(b)
			 : "rcx", "r11", "memory");
	return ret;
}

/* A descriptor by which short mappings are made until nobody looks at the file
 * any more; then it is of another file. */
static int looked_at(const char *name)
{
	char before[32];
	int fd, other;

	snprintf(before, sizeof(before), "%s.before", name);
	fd = ct_file(before, PAGES * PAGE);
	for (int i = 0; i < 4; i++)
		munmap(ct_map(fd, 3 * PAGE, RW, MAP_SHARED, 0), 3 * PAGE);
	other = ct_file(name, PAGES * PAGE);
	by_number(SYS_dup2, other, fd);
	return fd;
}

static void agree(const char *what, int fd, volatile char *small)
{
	volatile char *large = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);

	large[0] = 7;
	small[PAGE] = 9;
	say("U15 %s: %d %d, in the file: %d %d", what, small[0], large[PAGE],
	    ct_in_file(fd, 0), ct_in_file(fd, PAGE));
	munmap((void *)large, PAGES * PAGE);
}

static void stays(void)
{
	int fd = looked_at("first");
	char *small = ct_map(fd, 2 * PAGE, RW, MAP_SHARED, 0);

	agree("stays", fd, small);
	munmap(small, 2 * PAGE);
}

static void moves(void)
{
	int fd = looked_at("second");
	char *at, *to, *small = ct_map(fd, 2 * PAGE, RW, MAP_SHARED, 0);

	to = mmap(NULL, 2 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		  0);
	to = mremap(small, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		    to);
	at = mmap(small, 2 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		  -1, 0);
	munmap(at, 2 * PAGE);
	agree("moved", fd, to);
	munmap(to, 2 * PAGE);
}

static void in_part(void)
{
	int fd = looked_at("third");
	char *small = ct_map(fd, 3 * PAGE, RW, MAP_SHARED, 0);

	munmap(small + 2 * PAGE, PAGE);
	agree("the rest is unmapped", fd, small);
	munmap(small, 2 * PAGE);
}

static void many(void)
{
	int fd = looked_at("fourth");
	char *small[KEPT];

	for (int i = 0; i < KEPT; i++)
		small[i] = ct_map(fd, 2 * PAGE, RW, MAP_SHARED, 0);
	for (int i = 0; i < KEPT - 1; i++)
		munmap(small[i], 2 * PAGE);
	agree("the last of many", fd, small[KEPT - 1]);
	munmap(small[KEPT - 1], 2 * PAGE);
}

/* So many different descriptors that files are looked at now and then only. */
static void many_files(void)
{
	int fd = ct_file("seen", PAGES * PAGE);

	close(fd);
	for (int i = 0; i < 300; i++) {
		fd = open("seen", O_RDWR);
		munmap(ct_map(fd, PAGE, RW, MAP_SHARED, 0), PAGE);
		close(fd);
	}
}

static void never_seen(const char *name, int kept)
{
	int fd = ct_file(name, PAGES * PAGE);
	char *small[KEPT];

	for (int i = 0; i < kept; i++)
		small[i] = ct_map(fd, 2 * PAGE, RW, MAP_SHARED, 0);
	for (int i = 0; i < kept - 1; i++)
		munmap(small[i], 2 * PAGE);
	agree(name, fd, small[kept - 1]);
	munmap(small[kept - 1], 2 * PAGE);
	close(fd);
}

static void unseen(void)
{
	volatile char *large;

	many_files();
	never_seen("unseen", 1);
	never_seen("unseen many", KEPT);
	large = ct_map(ct_file("served", PAGES * PAGE), PAGES * PAGE, RW,
		       MAP_SHARED, 0);
	large[0] = 7;
	never_seen("unseen beside", 1);
	never_seen("unseen many beside", KEPT);
	munmap((void *)large, PAGES * PAGE);
}

int main(int argc, char **argv)
{
	volatile char *large;
	int fd;

	ct_begin(argc, argv);
	stays();
	moves();
	in_part();
	many();
	unseen();
	/* A file of which no part is the kernel's. */
	fd = ct_file("own", PAGES * PAGE);
	large = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	large[0] = 7;
	say("U15 in the file: %d", ct_in_file(fd, 0));
	return 0;
}
