/* SPDX-License-Identifier: MIT */
/* X23: a child of fork that reads what its parent has read does not wait for
 * each page. */
/* env: FASTMAP_CACHE=300M */
#include "ct.h"

#include <sys/resource.h>

#define PAGES 65536ul

static const char *p;

static size_t wrong(void)
{
	size_t n = 0;

	for (size_t i = 0; i < PAGES; i++)
		n += *(volatile const char *)(p + i * PAGE) != (i == PAGES / 2);
	return n;
}

static void reads(void)
{
	struct rusage ru;
	long before;

	getrusage(RUSAGE_SELF, &ru);
	before = ru.ru_majflt;
	say("X23 wrong %zu", wrong());
	getrusage(RUSAGE_SELF, &ru);
	say("X23 waits for more than half of the pages: %d",
	    (size_t)(ru.ru_majflt - before) > PAGES / 2);
}

int main(int argc, char **argv)
{
	int fd;

	ct_begin(argc, argv);
	fd = open(ct_path("f"), O_RDWR | O_CREAT, 0644);
	if (ftruncate(fd, PAGES * PAGE) ||
	    pwrite(fd, "\1", 1, (off_t)(PAGES / 2 * PAGE)) != 1)
		ct_die("pwrite");
	close(fd);
	fd = open(ct_path("f"), O_RDONLY);
	p = ct_map(fd, PAGES * PAGE, PROT_READ, MAP_SHARED, 0);
	say("X23 wrong %zu", wrong());
	madvise((void *)p, PAGES * PAGE, MADV_RANDOM);
	ct_child("reads", reads);
	say("X23 wrong %zu", wrong());
	return 0;
}
