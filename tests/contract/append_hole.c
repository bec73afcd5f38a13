/* SPDX-License-Identifier: MIT */
/* C80: a file grows by writes that leave holes, while its last page, which is
 * not full, is dirty and read(2) by another thread; a store to that page behind
 * the old end. */
/* all ours */
#include "ct.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define STEPS 600
#define END 1000 /* bytes of the last page that are in the file */

static int fd;
static _Atomic bool stop;
static _Atomic long last; /* page */

/* Each read has what is dirty there written back first. */
static void *reader(void *unused)
{
	char c;

	while (!stop)
		if (pread(fd, &c, 1, last * (off_t)PAGE) != 1)
			ct_die("pread");
	return unused;
}

static long now_us(void)
{
	struct timespec ts;

	clock_gettime(CLOCK_MONOTONIC, &ts);
	return ts.tv_sec * 1000000 + ts.tv_nsec / 1000;
}

int main(int argc, char **argv)
{
	static char some[END];
	pthread_t t;
	char *p;
	int lost = 0;

	ct_begin(argc, argv);
	fd = ct_file("f", END);
	p = ct_map(fd, (2 * STEPS + 2) * PAGE, RW, MAP_SHARED, 0);
	pthread_create(&t, NULL, reader, NULL);
	for (long i = 0; i < STEPS; i++) {
		volatile char *at = p + 2 * i * PAGE;

		last = 2 * i;
		for (long from = now_us(); now_us() - from < i % 32 * 25;)
			at[1]++;
		ct_pwrite(fd, some, END, 2 * (i + 1) * (off_t)PAGE);
		at[3000] = 77;
	}
	stop = true;
	pthread_join(t, NULL);
	munmap(p, (2 * STEPS + 2) * PAGE);
	for (long i = 0; i < STEPS; i++)
		lost += ct_in_file(fd, 2 * i * (off_t)PAGE + 3000) != 77;
	say("C80 lost %d", lost);
	return 0;
}
