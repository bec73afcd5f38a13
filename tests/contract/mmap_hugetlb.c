/* SPDX-License-Identifier: MIT */
/* M98h: a file in huge pages, by a descriptor, and by another mapping of it. */
/* not engaged: it is the kernel's */
/* env: FASTMAP_PATHS=/ */
#include "ct.h"

#define HUGE (2ul << 20)

int main(int argc, char **argv)
{
	int fd = memfd_create("huge", MFD_HUGETLB);
	char *p, *q, c = 0;

	ct_begin(argc, argv);
	if (fd < 0 || ftruncate(fd, HUGE))
		ct_skip("no hugetlbfs");
	p = mmap(NULL, HUGE, RW, MAP_SHARED, fd, 0);
	if (p == MAP_FAILED)
		ct_skip("no huge pages (vm.nr_overcommit_hugepages)");
	p[5 * PAGE] = 7;
	say_rc("M98h pread", pread(fd, &c, 1, 5 * (off_t)PAGE));
	say("M98h by it: %d", c);
	q = ct_map(fd, HUGE, PROT_READ, MAP_SHARED, 0);
	say("M98h by another: %d", q[5 * PAGE]);
	say_rc("M98h a part", munmap(p, PAGE));
	say_rc("M98h all", munmap(p, HUGE));
	return 0;
}
