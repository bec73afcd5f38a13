/* SPDX-License-Identifier: MIT */
/*
 * C85q: a userfaultfd of the program's own is filled at once from two files
 * that lie side by side, from mappings that have not been touched; also by a
 * process that has confined itself.
 */
#include "ct.h"

#include <linux/filter.h>
#include <linux/seccomp.h>
#include <linux/userfaultfd.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define N (32 * PAGE)
#define FROM (5 * PAGE)

static int faults, fd[2];
static char *anon; /* it watches this memory */

static void begin(void)
{
	struct uffdio_api api = { .api = UFFD_API };
	struct uffdio_register r = { .mode = UFFDIO_REGISTER_MODE_MISSING };

	faults = (int)syscall(SYS_userfaultfd,
			      O_CLOEXEC | UFFD_USER_MODE_ONLY);
	if (faults < 0 || ioctl(faults, UFFDIO_API, &api))
		exit(77);
	anon = mmap(NULL, N, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	r.range = (struct uffdio_range){ (uintptr_t)anon, N };
	say_rc("C85q memory", ioctl(faults, UFFDIO_REGISTER, &r));
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
	struct sock_filter all = BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW);
	const struct sock_fprog filter = { 1, &all };
	struct uffdio_copy c = { .len = N };
	char *p;

	begin();
	p = map_both(MAP_SHARED);
	prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
	prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter);
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
