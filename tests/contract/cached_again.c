/* SPDX-License-Identifier: MIT */
/* U20: a file that is in the page cache is mapped and unmapped over and over:
 * it is not asked each time whether all of it is there, which takes as long as
 * the file is large. A tracer counts those calls of a child. */
/* env: FASTMAP_WARM=auto */
/* not engaged: the kernel serves what is in the page cache */
#include "counted.h"

#define N (64ul << 20)
#define TIMES 40
#define CACHESTAT 451 /* Linux 6.5 */

static void child(void)
{
	for (int k = 0; k < TIMES; k++) {
		int fd = open(ct_path("cached"), O_RDONLY);
		char *m = ct_map(fd, N, PROT_READ, MAP_PRIVATE, 0);

		if (m[PAGE * (size_t)k] != (char)ct_byte(PAGE * (size_t)k))
			_exit(2);
		munmap(m, N);
		close(fd);
	}
}

static int count(void)
{
	int status, n = traced_count(child, CACHESTAT, 0, &status);

	if (status)
		say("U20 child ended with %d", status);
	return n;
}

int main(int argc, char **argv)
{
	bool few = false;

	ct_begin(argc, argv);
	close(ct_file("cached", N));
	/* Beside other work each may take longer than an answer holds. */
	for (int k = 0; k < 4 && !few; k++)
		few = count() <= TIMES / 2;
	say("U20 looks at what is cached: %s", few ? "few" : "many");
	return 0;
}
