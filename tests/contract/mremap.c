/* SPDX-License-Identifier: MIT */
/* R01-R08: mremap. */
#include "ct.h"

#include <sys/resource.h>

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
	say_map("R02 unmapped",
		mremap(p + 5 * PAGE, PAGE, 2 * PAGE, MREMAP_MAYMOVE));
	say_map("R02 spans the end",
		mremap(p, 6 * PAGE, 8 * PAGE, MREMAP_MAYMOVE));
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
	say("R06 second mapping: %s, elsewhere %d", ct_errno(q == MAP_FAILED),
	    q != p);
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
	char *to =
		mmap(NULL, 16 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
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
	p = mremap(q + 2 * PAGE, 2 * PAGE, 2 * PAGE,
		   MREMAP_MAYMOVE | MREMAP_FIXED, q + 5 * PAGE);
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
	q = mremap(p, 4 * PAGE, 4 * PAGE, MREMAP_MAYMOVE | MREMAP_DONTUNMAP,
		   NULL);
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

/* Older kernels unmap the target before they look any further. */
/* since 6.17: R07 no room to grow, target */
/* since 6.17: R07 no room to grow, store */
static void say_target(const char *what, char *t)
{
	int first = ct_load(t + PAGE);

	say("R07 %s, target: %02x %02x, rest %d", what, first,
	    ct_load(t + 9 * PAGE),
	    first >= 0 && ct_matches(t + 2 * PAGE, 7 * PAGE, 2 * PAGE));
	say("R07 %s, store: %d, in the file: %02x", what,
	    ct_store(t + 3 * PAGE, ct_byte(3 * PAGE)),
	    ct_in_file(fd, 3 * PAGE));
}

/* A move that fails leaves both ends as they were. */
static void refused(void)
{
	const int flags = MREMAP_MAYMOVE | MREMAP_FIXED;
	char *t = ct_map(fd, 16 * PAGE, RW, MAP_SHARED, 0);
	int other = ct_file("other", 16 * PAGE);
	char *s = ct_map(other, 8 * PAGE, RW, MAP_SHARED, 0);
	char *anon =
		mmap(NULL, 8 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	struct rlimit old, tight;

	t[PAGE] = 0x21;
	t[9 * PAGE] = 0x22;
	s[PAGE] = 0x23;
	anon[0] = 0x24;
	munmap(anon + 4 * PAGE, 4 * PAGE);
	say_map("R07 from a hole",
		mremap(anon + 4 * PAGE, PAGE, PAGE, flags, t));
	say_target("from a hole", t);
	getrlimit(RLIMIT_AS, &old);
	tight = (struct rlimit){ 1 << 20, old.rlim_max };
	setrlimit(RLIMIT_AS, &tight);
	say_map("R07 no room to grow",
		mremap(anon, 4 * PAGE, 8 * PAGE, flags, t));
	say_map("R07 no room to grow, file",
		mremap(s, 8 * PAGE, 12 * PAGE, flags, t));
	setrlimit(RLIMIT_AS, &old);
	say_target("no room to grow", t);
	if (ct_load(t) < 0 && mmap(t, 16 * PAGE, RW, MAP_SHARED | MAP_FIXED, fd,
				   0) != t)
		ct_die("mmap");
	say("R07 sources: %02x %02x %d", ct_load(anon), ct_load(s + PAGE),
	    ct_matches(s + 2 * PAGE, 6 * PAGE, 2 * PAGE));
	say("R07 source store: %d, in the file: %02x",
	    ct_store(s + 7 * PAGE, 0x25), ct_in_file(other, 7 * PAGE));
	say_map("R07 the end of the address space",
		mremap(s, 8 * PAGE, 8 * PAGE, flags,
		       (void *)((1ul << 47) - PAGE)));
	munmap(anon + 3 * PAGE, PAGE);
	/* Now with success: foreign over managed, shrinking, duplicating. */
	anon = mmap(anon, 4 * PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED,
		    -1, 0);
	anon[0] = 0x24;
	say_map("R07 anonymous over it",
		mremap(anon, 4 * PAGE, 4 * PAGE, flags, t));
	say("R07 anonymous: %02x %02x, next %d", ct_load(t), ct_load(t + PAGE),
	    ct_matches(t + 4 * PAGE, PAGE, 4 * PAGE));
	say_map("R07 shrinking",
		mremap(s, 8 * PAGE, 2 * PAGE, flags, t + 4 * PAGE));
	say("R07 shrunk: %02x, next %d", ct_load(t + 5 * PAGE),
	    ct_matches(t + 6 * PAGE, PAGE, 6 * PAGE));
	say_load("R07 rest of the source", s, 5 * PAGE);
	say_map("R06 duplicate over managed",
		mremap(t + 4 * PAGE, 0, 2 * PAGE, flags, t + 8 * PAGE));
	say("R06 duplicate: %02x, next %d", ct_load(t + 9 * PAGE),
	    ct_matches(t + 10 * PAGE, PAGE, 10 * PAGE));
	t[9 * PAGE + 1] = 0x26;
	say("R06 coherent: %02x", t[5 * PAGE + 1]);
	munmap(t, 16 * PAGE);
	/* Two mappings side by side that are one in the file. */
	t = mmap(NULL, 16 * PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1,
		 0);
	mmap(t, 2 * PAGE, RW, MAP_SHARED | MAP_FIXED, other, 8 * PAGE);
	t[PAGE] = 0x27;
	mmap(t + 2 * PAGE, 2 * PAGE, RW, MAP_SHARED | MAP_FIXED, other,
	     10 * PAGE);
	t[2 * PAGE] = 0x28;
	say_map("R07 two at once",
		mremap(t, 4 * PAGE, 4 * PAGE, flags, t + 8 * PAGE));
	say("R07 two: %02x %02x %d", ct_load(t + 9 * PAGE),
	    ct_load(t + 10 * PAGE), ct_matches(t + 11 * PAGE, PAGE, 11 * PAGE));
	say("R07 two, store: %d, in the file: %02x",
	    ct_store(t + 8 * PAGE, 0x29), ct_in_file(other, 8 * PAGE));
	munmap(t, 16 * PAGE);
	say("R07 in the file: %02x %02x", ct_in_file(fd, PAGE),
	    ct_in_file(fd, 9 * PAGE));
	close(other);
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
	with_file("refused", refused);
	return 0;
}
