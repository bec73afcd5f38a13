/* SPDX-License-Identifier: MIT */
/* R83: the process has as many mappings as it may (vm.max_map_count). What
 * would make two of one is refused, and takes nothing away. Nor if there is
 * room for one, two, or three; whether that is enough is not compared. */
#include "ct.h"

#define PAGES 64ul
#define HUGE (2ul << 20)
#define MOST (3ul << 20)

static void *taken[MOST];
static size_t n;

/* Neighbours differ, or they would be one mapping. */
static void take(void)
{
	while (n < MOST) {
		void *p = mmap(NULL, PAGE, n % 2 ? PROT_READ : PROT_NONE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			return;
		taken[n++] = p;
	}
}

static void give_back(size_t k)
{
	while (n > 0 && k-- > 0)
		if (munmap(taken[--n], PAGE))
			ct_die("munmap");
}

static void intact(const char *when, const char *p)
{
	size_t bad = 0;

	for (size_t i = 0; i < PAGES; i++)
		bad += p[i * PAGE + 7] != (char)(i + 3);
	say("R83 %s: %zu wrong", when, bad);
}

static void *over(char *a, int prot, int flags, int fd)
{
	return mmap(a, 4 * PAGE, prot, flags | MAP_FIXED, fd, 0);
}

static bool is_new(const char *a)
{
	return ct_matches(a, 4 * PAGE, 0);
}

static bool is_zero(const char *a)
{
	for (size_t k = 0; k < 4 * PAGE; k++)
		if (a[k])
			return false;
	return true;
}

static bool is_old(const char *p, size_t i)
{
	for (size_t k = i; k < i + 4; k++)
		if (p[k * PAGE + 7] != (char)(k + 3))
			return false;
	return true;
}

static void with_room(char *p, int other)
{
	int bad = 0;

	for (size_t room = 0; room < 15; room++) {
		size_t i = room * 4;
		bool file = room < 8;
		void *q;

		give_back(room % 8);
		q = file ? over(p + i * PAGE, PROT_READ, MAP_SHARED, other)
			 : over(p + i * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS,
				-1);
		bad += q == MAP_FAILED ? !is_old(p, i) :
		       file ? !is_new(q) : !is_zero(q);
		take();
	}
	say("R83 with a little room: %d wrong", bad);
}

/* Two neighbours that may only be read. */
static char *neighbours(void)
{
	char *at = mmap(NULL, 6 * HUGE, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	int fd = ct_file("big", 2 * HUGE);

	at += HUGE - (uintptr_t)at % HUGE;
	for (int k = 0; k < 2; k++)
		if (mmap(at + k * HUGE, HUGE, PROT_READ, MAP_SHARED | MAP_FIXED,
			 fd, (off_t)(k * HUGE)) == MAP_FAILED)
			ct_die("mmap");
	return at;
}

int main(int argc, char **argv)
{
	const int anon = MAP_PRIVATE | MAP_ANONYMOUS;
	int fd, other;
	char *p, *mid, *two;

	ct_begin(argc, argv);
	fd = ct_file("f", PAGES * PAGE);
	other = ct_file("other", PAGES * PAGE);
	p = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	mid = p + 20 * PAGE;
	for (size_t i = 0; i < PAGES; i++)
		p[i * PAGE + 7] = (char)(i + 3);
	two = neighbours();
	take();
	say("R83 all taken: %d", n < MOST);
	intact("full", p);
	say("R83 a file over it: %s",
	    ct_errno(over(mid, RW, MAP_SHARED, other) == MAP_FAILED));
	intact("after that", p);
	say("R83 memory over it: %s",
	    ct_errno(over(mid, RW, anon, -1) == MAP_FAILED));
	intact("after that", p);
	say("R83 munmap: %s", ct_errno(munmap(mid, PAGE) != 0));
	intact("after that", p);
	say("R83 mprotect: %s", ct_errno(mprotect(mid, PAGE, PROT_READ) != 0));
	p[20 * PAGE + 7] = 23;
	intact("after that", p);
	say_rc("R83 msync", msync(p, PAGES * PAGE, MS_SYNC));
	say("R83 store to what may be read: %d %d", ct_load(two),
	    ct_store(two, 1));
	with_room(p, other);
	give_back(MOST);
	say("R83 a file over it: %s",
	    ct_errno(over(mid, RW, MAP_SHARED, other) == MAP_FAILED));
	say("R83 then: %d %d %d", p[3 * PAGE + 7], is_new(mid),
	    ct_in_file(fd, 20 * PAGE + 7));
	return 0;
}
