/* SPDX-License-Identifier: MIT */
/* U20h: a file with many holes, of which nothing is cached, is mapped and
 * unmapped over and over to be read: it is not asked each time where it has
 * blocks, which takes as long as there are many. A tracer counts those calls of
 * a child. */
/* env: FASTMAP_WARM=auto */
/* not engaged: so short a file is the kernel's */
#include <linux/fiemap.h>
#include <linux/fs.h>

#include "counted.h"

#define N (12ul << 20)
#define EACH (64ul << 10)
#define TIMES 40

static void child(void)
{
	for (int k = 0; k < TIMES; k++) {
		int fd = open(ct_path("holes"), O_RDONLY);

		munmap(ct_map(fd, N, PROT_READ, MAP_PRIVATE, 0), N);
		close(fd);
	}
}

static void make(void)
{
	int fd = ct_file("holes", 0);

	if (ftruncate(fd, (off_t)N))
		ct_skip("no holes");
	for (size_t at = 0; at < N; at += EACH)
		ct_pwrite(fd, "x", 1, (off_t)at);
	fsync(fd);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	close(fd);
}

static int count(void)
{
	int status;
	int n = traced_count(child, SYS_ioctl, FS_IOC_FIEMAP, &status);

	if (status)
		say("U20h child ended with %d", status);
	return n;
}

int main(int argc, char **argv)
{
	bool few = false;

	ct_begin(argc, argv);
	make();
	/* Beside other work each may take longer than an answer holds. */
	for (int k = 0; k < 4 && !few; k++)
		few = count() <= TIMES / 2;
	say("U20h looks for holes: %s", few ? "few" : "many");
	return 0;
}
