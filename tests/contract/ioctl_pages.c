/* SPDX-License-Identifier: MIT */
/* all ours */
/* C85s: a userfaultfd of the program's own is filled page by page, as it asks,
 * from a mapping that has not been touched. */
#include "own_uffd.h"


#define PAGES 32ul
#define N (PAGES * PAGE)

int main(int argc, char **argv)
{
	int faults, fd, done = 0;
	char *anon, *p;

	ct_begin(argc, argv);
	faults = ct_uffd(UFFD_USER_MODE_ONLY);
	anon = mmap(NULL, N, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	say_rc("C85s memory", ct_uffd_watch(faults, anon, N));
	fd = ct_file("f", N);
	ct_uncache(fd);
	p = ct_map(fd, N, PROT_READ, MAP_SHARED, 0);
	for (size_t i = PAGES; i-- > 0;) {
		struct uffdio_copy c = { .dst = (uintptr_t)anon + i * PAGE,
					 .src = (uintptr_t)p + i * PAGE,
					 .len = PAGE };

		done += !ioctl(faults, UFFDIO_COPY, &c);
	}
	say("C85s %d, %d", done, ct_matches(anon, N, 0));
	return 0;
}
