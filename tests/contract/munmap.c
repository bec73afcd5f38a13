/* SPDX-License-Identifier: MIT */
/* U01-U06: munmap of all, parts and mixtures. */
#include "ct.h"

static int fd;

static void arguments(void)
{
	char *p = ct_map(fd, 8 * PAGE, RW, MAP_SHARED, 0);

	say_rc("U01 unaligned", munmap(p + 1, PAGE));
	say_rc("U01 length 0", munmap(p, 0));
	say_rc("U01 wraps", munmap(p, -PAGE));
	say_rc("U01 length -1", munmap(p, -1ul));
	say_rc("U01 beyond user space", munmap((void *)(1ul << 47), PAGE));
	say("U01 still there: %d", ct_matches(p, 8 * PAGE, 0));
	say_rc("U02 length rounds up", munmap(p, PAGE + 1));
	say_load("U02 first", p, 0);
	say_load("U02 second", p, PAGE);
	say_load("U02 third", p, 2 * PAGE);
	say_rc("U02 hole again", munmap(p, 2 * PAGE));
	say_rc("U02 hole and rest", munmap(p, 8 * PAGE));
	say_rc("U02 all hole", munmap(p, 8 * PAGE));
}

static void say_pages(const char *what, char *p, int n)
{
	char line[64] = { 0 };

	for (int i = 0; i < n; i++) {
		int c = ct_load(p + i * (int)PAGE + 1);

		line[i] = c == -SIGSEGV ? '-' : c == -SIGBUS ? 'B' :
			c == ct_byte((uint64_t)i * PAGE + 1) ? 'f' : '?';
	}
	say("%s: %s", what, line);
}

static void parts(void)
{
	char *p = ct_map(fd, 32 * PAGE, RW, MAP_SHARED, 0);

	for (int i = 0; i < 32; i++)
		p[i * (int)PAGE] = (char)(0x40 + i);
	say_rc("U03 middle", munmap(p + 10 * PAGE, 4 * PAGE));
	say_pages("U03 middle", p, 32);
	say_rc("U03 head", munmap(p, 3 * PAGE));
	say_rc("U03 tail", munmap(p + 30 * PAGE, 2 * PAGE));
	say_pages("U03 head and tail", p, 32);
	for (int i = 0; i < 32; i++)
		if (ct_in_file(fd, i * (off_t)PAGE) != 0x40 + i)
			say("U03 store to page %d lost", i);
	p[5 * PAGE] = 0x11;
	p[20 * PAGE] = 0x12;
	say_rc("U03 msync of the left part",
	       msync(p + 3 * PAGE, 7 * PAGE, MS_SYNC));
	say_rc("U03 msync across the hole",
	       msync(p + 3 * PAGE, 27 * PAGE, MS_SYNC));
	say("U03 in the file: %02x %02x", ct_in_file(fd, 5 * PAGE),
	    ct_in_file(fd, 20 * PAGE));
	say_rc("U04 across the hole", munmap(p, 32 * PAGE));
	say_pages("U04 all gone", p, 32);
	say_store("U06 store after munmap", p, 20 * PAGE);
}

static void mixtures(void)
{
	char *p = mmap(NULL, 24 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED ||
	    mmap(p + 4 * PAGE, 8 * PAGE, RW, MAP_SHARED | MAP_FIXED, fd,
		 4 * PAGE) == MAP_FAILED ||
	    mmap(p + 16 * PAGE, 4 * PAGE, PROT_READ, MAP_PRIVATE | MAP_FIXED,
		 fd, 16 * PAGE) == MAP_FAILED)
		ct_die("mmap");
	p[11 * PAGE] = 0x31;
	memset(p, 0x32, PAGE);
	say_rc("U04 anonymous and managed", munmap(p + 2 * PAGE, 4 * PAGE));
	say_load("U04 anonymous kept", p, 0);
	say_load("U04 anonymous gone", p, 3 * PAGE);
	say_load("U04 managed gone", p, 5 * PAGE);
	say_load("U04 managed kept", p, 6 * PAGE + 1);
	say_rc("U04 two managed and between", munmap(p + 10 * PAGE, 8 * PAGE));
	say("U04 store: %02x", ct_in_file(fd, 11 * PAGE));
	say_load("U04 managed kept", p, 9 * PAGE + 1);
	say_load("U04 private kept", p, 18 * PAGE + 1);
	say_rc("U04 everything", munmap(p, 24 * PAGE));
	say_load("U06 gone", p, 18 * PAGE);
}

/* Space that was given back can be had again by others. */
static void reuse(void)
{
	const int rounds = ct_rounds(60, 200);
	int bad = 0;

	for (int i = 0; i < rounds; i++) {
		char *p = ct_map(fd, 32 * PAGE, RW, MAP_SHARED, 0);
		char *q;

		p[i % 32 * (int)PAGE + 7] = (char)i;
		munmap(p, 32 * PAGE);
		q = mmap(NULL, 32 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1,
			 0);
		bad += !ct_zero(q, 32 * PAGE);
		bad += ct_in_file(fd, i % 32 * (off_t)PAGE + 7) != (i & 255);
		munmap(q, 32 * PAGE);
	}
	say("U06 wrong after reuse: %d", bad);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	fd = ct_file("f", 32 * PAGE);
	arguments();
	parts();
	mixtures();
	reuse();
	return 0;
}
