/* SPDX-License-Identifier: MIT */
/* R01-R08: mremap. */
#include "ct.h"

static int fd;

static void *hole(size_t pages)
{
	char *p = mmap(NULL, pages * PAGE, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	munmap(p, pages * PAGE);
	return p;
}

static void arguments(void)
{
	char *p = ct_map(fd, 8 * PAGE, RW, MAP_SHARED, 0);

	say_map("R01 old unaligned", mremap(p + 1, PAGE, PAGE, MREMAP_MAYMOVE));
	say_map("R01 new size 0", mremap(p, PAGE, 0, MREMAP_MAYMOVE));
	say_map("R01 bogus flag", mremap(p, PAGE, PAGE, 0x80));
	say_map("R01 fixed without maymove",
		mremap(p, PAGE, PAGE, MREMAP_FIXED, p + 64 * PAGE));
	say_map("R01 overlap", mremap(p, 4 * PAGE, 4 * PAGE,
				      MREMAP_MAYMOVE | MREMAP_FIXED, p + PAGE));
	say_map("R01 new unaligned", mremap(p, PAGE, PAGE,
		MREMAP_MAYMOVE | MREMAP_FIXED, p + 64 * PAGE + 1));
	say_map("R01 new size huge", mremap(p, PAGE, -PAGE, MREMAP_MAYMOVE));
	munmap(p + 4 * PAGE, 4 * PAGE);
	say_map("R02 unmapped", mremap(p + 5 * PAGE, PAGE, 2 * PAGE, MREMAP_MAYMOVE));
	say_map("R02 spans the end", mremap(p, 6 * PAGE, 8 * PAGE, MREMAP_MAYMOVE));
	say("R01 unchanged: %d", ct_matches(p, 4 * PAGE, 0));
	munmap(p, 4 * PAGE);
}

static void grow_and_shrink(void)
{
	char *space = mmap(NULL, 32 * PAGE, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *p = mmap(space, 4 * PAGE, RW, MAP_SHARED | MAP_FIXED, fd, 0);
	char *q;

	p[PAGE] = 0x41;
	q = mremap(p, 4 * PAGE, 8 * PAGE, 0);
	say_map("R03 no room, no move", q);
	munmap(p + 4 * PAGE, 28 * PAGE);
	q = mremap(p, 4 * PAGE, 8 * PAGE, 0);
	say("R04 grown in place: %s %d", ct_errno(q == MAP_FAILED), q == p);
	say("R04 next pages: %d", ct_matches(p + 4 * PAGE, 4 * PAGE, 4 * PAGE));
	say("R04 store kept: %02x", p[PAGE]);
	q = mremap(p, 8 * PAGE, 24 * PAGE, MREMAP_MAYMOVE);
	say_map("R04 beyond the end", q);
	say_load("R04 last", q, 16 * PAGE - 1);
	say_load("R04 beyond the end", q, 16 * PAGE);
	say_store("R04 new page", q, 12 * PAGE);
	say("R04 in the file: %02x", ct_in_file(fd, 12 * PAGE));
	p = mremap(q, 24 * PAGE, 2 * PAGE, 0);
	say("R05 shrunk in place: %s %d", ct_errno(p == MAP_FAILED), p == q);
	say_load("R05 kept", p, PAGE);
	say_load("R05 gone", p, 2 * PAGE);
	q = mremap(p, 2 * PAGE, 2 * PAGE, 0);
	say("R05 same size: %d", q == p);
	q = mremap(p, 2 * PAGE - 5, 2 * PAGE - 100, 0);
	say("R05 sizes round up: %d", q == p);
	munmap(p, 2 * PAGE);
}

static void duplicate(void)
{
	char *p = ct_map(fd, 8 * PAGE, RW, MAP_SHARED, 0), *q;
	char *priv = ct_map(fd, 8 * PAGE, RW, MAP_PRIVATE, 0);

	say_map("R06 old size 0, no maymove", mremap(p, 0, 8 * PAGE, 0));
	say_map("R06 private", mremap(priv, 0, 8 * PAGE, MREMAP_MAYMOVE));
	p[2 * PAGE] = 0x61;
	q = mremap(p, 0, 8 * PAGE, MREMAP_MAYMOVE);
	say("R06 second mapping: %s, elsewhere %d", ct_errno(q == MAP_FAILED), q != p);
	if (q == MAP_FAILED)
		return;
	say("R06 sees the store: %02x", q[2 * PAGE]);
	q[3 * PAGE] = 0x62;
	say("R06 coherent: %02x", p[3 * PAGE]);
	munmap(p, 8 * PAGE);
	say("R06 survives the first: %02x", q[3 * PAGE]);
	munmap(q, 8 * PAGE);
	munmap(priv, 8 * PAGE);
}

static void fixed(void)
{
	char *p = ct_map(fd, 8 * PAGE, RW, MAP_SHARED, 0), *q;
	char *to = mmap(NULL, 16 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	char *priv = ct_map(fd, 8 * PAGE, RW, MAP_PRIVATE, 0);

	memset(to, 0x77, 16 * PAGE);
	p[PAGE] = 0x71;
	q = mremap(p, 8 * PAGE, 8 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		   to + 4 * PAGE);
	say("R07 moved: %s %d", ct_errno(q == MAP_FAILED), q == to + 4 * PAGE);
	say_load("R07 old place", p, PAGE);
	say_load("R07 new place", q, PAGE);
	say_load("R07 untouched page", q, 5 * PAGE);
	say("R07 neighbours: %02x %02x", to[4 * PAGE - 1], to[12 * PAGE]);
	q[6 * PAGE] = 0x72;
	say("R07 in the file: %02x %02x", ct_in_file(fd, PAGE),
	    ct_in_file(fd, 6 * PAGE));
	/* Part of a mapping, over another managed one; and private copies. */
	p = mremap(q + 2 * PAGE, 2 * PAGE, 2 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED,
		   q + 5 * PAGE);
	say_map("R07 part over itself elsewhere", p);
	say("R07 content: %02x %02x, rest %d", q[5 * PAGE], q[6 * PAGE],
	    ct_matches(q + 5 * PAGE + 1, PAGE - 1, 2 * PAGE + 1));
	say_load("R07 hole left behind", q, 2 * PAGE);
	say_load("R07 tail", q, 7 * PAGE);
	priv[0] = 0x73;
	priv = mremap(priv, 8 * PAGE, 16 * PAGE, MREMAP_MAYMOVE);
	say_map("R07 private", priv);
	say("R07 private copy: %02x, file page %d", priv[0],
	    ct_matches(priv + 9 * PAGE, PAGE, 9 * PAGE));
	munmap(priv, 16 * PAGE);
	munmap(to, 16 * PAGE);
}

static void keep_old(void)
{
	char *p = ct_map(fd, 4 * PAGE, RW, MAP_SHARED, 0), *q, *to = hole(8);

	p[0] = 0x01;
	q = mremap(p, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL);
	say_map("R08 dontunmap", q);
	if (q != MAP_FAILED) {
		say_load("R08 new", q, 0);
		say_load("R08 old", p, 0);
		q[2 * PAGE + 2] = 0x08;
		say_load("R08 old follows", p, 2 * PAGE + 2);
		munmap(q, 4 * PAGE);
	}
	say_map("R08 dontunmap, other size", mremap(p, 4 * PAGE, 5 * PAGE,
		MREMAP_MAYMOVE | MREMAP_DONTUNMAP, NULL));
	q = mremap(p, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_FIXED, to);
	say_load("R08 moved", q, 0);
	munmap(q, 4 * PAGE);
}

/* Each on a file of its own: the library may hand a file to the kernel for
 * good after an unusual call. */
static void with_file(const char *name, void (*run)(void))
{
	char *p;

	fd = ct_file(name, 16 * PAGE);
	p = ct_map(fd, 16 * PAGE, RW, MAP_SHARED, 0);
	say("R00 %s: %d", name, ct_matches(p, 16 * PAGE, 0));
	munmap(p, 16 * PAGE);
	run();
	close(fd);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	with_file("arguments", arguments);
	with_file("grow", grow_and_shrink);
	with_file("duplicate", duplicate);
	with_file("fixed", fixed);
	with_file("keep", keep_old);
	return 0;
}
