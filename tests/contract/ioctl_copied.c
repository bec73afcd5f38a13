/* SPDX-License-Identifier: MIT */
/*
 * C85q: a userfaultfd of the program's own is filled at once from two files
 * that lie side by side, from mappings that have not been touched; also by a
 * process that has confined itself.
 */
#include "filter.h"
#include "own_uffd.h"


#define N (32 * PAGE)
#define FROM (5 * PAGE)

static int faults, fd[2];
static char *anon; /* it watches this memory */

static void begin(void)
{
	faults = ct_uffd(UFFD_USER_MODE_ONLY);
	anon = mmap(NULL, N, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	say_rc("C85q memory", ct_uffd_watch(faults, anon, N));
}

static char *map_both(int flags)
{
	char *room = mmap(NULL, 2 * N, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS,
			  -1, 0);

	for (int k = 0; k < 2; k++) {
		ct_uncache(fd[k]);
		if (mmap(room + k * N, N, RW, flags | MAP_FIXED, fd[k], 0) ==
		    MAP_FAILED)
			ct_die("mmap");
	}
	return room;
}

static void copy(const char *what, int flags)
{
	char *p = map_both(flags);
	struct uffdio_copy c = { .dst = (uintptr_t)anon, .len = N,
				 .src = (uintptr_t)p + FROM };

	say("C85q %s: %d", what, p[1] == (char)ct_byte(1));
	madvise(anon, N, MADV_DONTNEED);
	say_rc("C85q UFFDIO_COPY", ioctl(faults, UFFDIO_COPY, &c));
	say("C85q %s: %lld, %d", what, (long long)c.copy,
	    c.copy == (long long)N && ct_matches(anon, N - FROM, FROM) &&
		    ct_matches(anon + N - FROM, FROM, 0));
	munmap(p, 2 * N);
}

/* The filter allows all. */
static int confined(void *unused)
{
	struct uffdio_copy c = { .len = N };
	char *p;

	begin();
	p = map_both(MAP_SHARED);
	ct_filter(NULL, 0, SECCOMP_RET_ALLOW, SECCOMP_RET_ALLOW, 0);
	c.dst = (uintptr_t)anon;
	c.src = (uintptr_t)p + FROM;
	return ioctl(faults, UFFDIO_COPY, &c) ? errno :
	       ct_matches(anon, N - FROM, FROM) &&
			       ct_matches(anon + N - FROM, FROM, 0) ? 0 : 200;
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	for (int k = 0; k < 2; k++)
		fd[k] = ct_file(k ? "second" : "first", N);
	begin();
	copy("shared", MAP_SHARED);
	copy("private", MAP_PRIVATE);
	say("C85q confined: %d", ct_child(confined, NULL));
	return 0;
}
