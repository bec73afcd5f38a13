/* SPDX-License-Identifier: MIT */
/*
 * C85p: a userfaultfd of the program's own is filled from pages of mappings
 * that have not been touched, and is asked to watch them. And by a
 * confined process ioctls whose argument is a value: with a number that has a
 * size, and with one that is another device's, too.
 */
#include "filter.h"
#include "own_uffd.h"

#include <scsi/sg.h>
#include <sys/wait.h>

#define PAGES 64ul
#define N (PAGES * PAGE)
#define FROM (9 * PAGE)
#define SOME (40 * PAGE)

static int faults;
static char *anon; /* it watches this memory */

static void begin(void)
{
	faults = ct_uffd(UFFD_USER_MODE_ONLY);
	anon = mmap(NULL, N, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	say_rc("C85p memory", ct_uffd_watch(faults, anon, N));
}

static void copy(const char *what, const char *p)
{
	struct uffdio_copy c = { .dst = (uintptr_t)anon, .len = SOME,
				 .src = (uintptr_t)p + FROM };

	madvise(anon, N, MADV_DONTNEED);
	say_rc("C85p UFFDIO_COPY", ioctl(faults, UFFDIO_COPY, &c));
	say("C85p %s: %lld, %d", what, (long long)c.copy,
	    c.copy == (long long)SOME && ct_matches(anon, SOME, FROM));
}

static void watch(const char *p)
{
	struct uffdio_zeropage z = { .range = { (uintptr_t)p, PAGE } };

	say_rc("C85p UFFDIO_REGISTER", ct_uffd_watch(faults, p, N));
	say_rc("C85p UFFDIO_ZEROPAGE", ioctl(faults, UFFDIO_ZEROPAGE, &z));
	say("C85p its bytes: %d", ct_matches(p, N, 0));
}

static void run(const char *what, int flags, int prot)
{
	int fd = ct_file(what, N);
	char *p;

	ct_uncache(fd);
	p = ct_map(fd, N, prot, flags, 0);
	say("C85p %s: %d", what, ct_matches(p, 1, 0));
	copy(what, p);
	munmap(p, N);
	ct_uncache(fd);
	p = ct_map(fd, N, prot, flags, 0);
	watch(p);
	munmap(p, N);
	close(fd);
}

/* The filter allows all. What is not the device's says ENOTTY; looking at its
 * argument as if it were an address would be a SIGSEGV. */
static void say_of_a_value(void)
{
	int fd = ct_file("confined", N), null = open("/dev/null", O_RDWR);
	char *p = ct_map(fd, N, RW, MAP_SHARED, 0);

	ct_filter(NULL, 0, SECCOMP_RET_ALLOW, SECCOMP_RET_ALLOW, 0);
	say_rc("C85p a value", ioctl(null, _IOW('p', 0x0c, long), 8192));
	say_rc("C85p a value, SG_IO's number", ioctl(null, SG_IO, 8192));
	say("C85p its bytes: %d", ct_matches(p, N, 0));
	fflush(stdout);
	_exit(0);
}

static void confined(void)
{
	pid_t pid;
	int status = -1;

	fflush(stdout);
	pid = fork();
	if (!pid)
		say_of_a_value();
	waitpid(pid, &status, 0);
	say("C85p ended with %d", status);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	begin();
	run("shared", MAP_SHARED, RW);
	run("private", MAP_PRIVATE, RW);
	run("read-only", MAP_SHARED, PROT_READ);
	confined();
	return 0;
}
