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

static struct {
	size_t wrong, waits; /* waits: the least of all children */
} *seen;

static void reads(void)
{
	struct rusage ru;
	size_t waits;

	getrusage(RUSAGE_SELF, &ru);
	waits = (size_t)-ru.ru_majflt;
	seen->wrong += wrong();
	getrusage(RUSAGE_SELF, &ru);
	waits += (size_t)ru.ru_majflt;
	if (waits < seen->waits)
		seen->waits = waits;
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
	seen = (void *)ct_map(-1, PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, 0);
	seen->waits = PAGES;
	/* Beside other work the thread that asks for the pages may get no CPU
	 * while a child reads them. */
	for (int k = 0; k < 4; k++) {
		ct_uncache(fd);
		say_child("reads", reads);
	}
	say("X23 wrong %zu", seen->wrong + wrong());
	say("X23 waits for more than half of the pages: %d",
	    seen->waits > PAGES / 2);
	return 0;
}
