/* SPDX-License-Identifier: MIT */
/* L08: mappings that are sealed, in part too, by the call's name and by its
 * number. */
#include "ct.h"

#include <dlfcn.h>
#include <sys/syscall.h>

#ifndef SYS_mseal
#define SYS_mseal 462
#endif
#define N 1536ul

static int by_number(void *p, size_t len, unsigned long flags)
{
	return (int)syscall(SYS_mseal, p, len, flags);
}

static void use(char *p, int fd)
{
	size_t lost = 0, stale = 0;

	say("L08 wrong: %zu", ct_wrong(p, 0, N));
	for (size_t i = 0; i < N; i++) {
		char c = (char)i;

		p[i * PAGE + 100] = (char)(i + 1);
		ct_pwrite(fd, &c, 1, (off_t)(i * PAGE + 200));
	}
	say_rc("L08 msync", msync(p, N * PAGE, MS_SYNC));
	for (size_t i = 0; i < N; i++) {
		lost += ct_in_file(fd, (off_t)(i * PAGE + 100)) !=
			(unsigned char)(i + 1);
		stale += ct_load(p + i * PAGE + 200) != (unsigned char)i;
	}
	say("L08 lost %zu, stale %zu", lost, stale);
}

static void seal(const char *name,
		 int (*mseal_it)(void *, size_t, unsigned long))
{
	int fd = ct_file(name, N * PAGE);
	char *p = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);
	char *half = p + N / 2 * PAGE;

	say("L08 %s before: %zu", name, ct_wrong(p, 0, N));
	say_rc("L08 flags", mseal_it(p, PAGE, 1));
	say_rc("L08 unaligned", mseal_it(p + 1, PAGE, 0));
	say_rc("L08 not mapped", mseal_it(NULL, PAGE, 0));
	if (mseal_it(half, N / 2 * PAGE, 0))
		ct_skip("no mseal in this kernel");
	say_rc("L08 mprotect", mprotect(half, PAGE, PROT_READ));
	say_rc("L08 munmap", munmap(half, PAGE));
	say_rc("L08 mremap",
	       mremap(half, PAGE, 2 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED ? -1
									  : 0);
	say_rc("L08 mmap over it",
	       mmap(half, PAGE, RW, MAP_SHARED | MAP_FIXED, fd, 0) == MAP_FAILED
		       ? -1
		       : 0);
	use(p, fd);
	say_rc("L08 the half that is not", munmap(p, N / 2 * PAGE));
}

int main(int argc, char **argv)
{
	int (*named)(void *, size_t, unsigned long) =
		(int (*)(void *, size_t, unsigned long))dlsym(RTLD_DEFAULT,
							      "mseal");

	ct_begin(argc, argv);
	seal("number", by_number);
	seal("name", named ? named : by_number);
	return 0;
}
