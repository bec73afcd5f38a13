/* SPDX-License-Identifier: MIT */
/* U07: unmapping while other threads fault and evict loses nothing. */
#include "ct.h"

#include <pthread.h>
#include <stdatomic.h>

#define THREADS 6
#define ROUNDS ct_rounds(40, 300)
#define SPAN 64 /* pages per thread */

static int fd;
static _Atomic int lost;

static void *work(void *arg)
{
	long id = (long)arg;
	off_t at = id * SPAN * (off_t)PAGE;
	unsigned rnd = (unsigned)id + 1;

	for (int round = 1; round <= ROUNDS; round++) {
		size_t first = (rnd = rnd * 1103515245 + 12345) >> 16 & 31;
		size_t n = 1 + ((rnd = rnd * 1103515245 + 12345) >> 16 & 31);
		char *p = mmap(NULL, n * PAGE, RW, MAP_SHARED, fd,
			       at + (off_t)(first * PAGE));

		if (p == MAP_FAILED)
			ct_die("mmap");
		for (size_t i = 0; i < n; i++)
			p[i * PAGE + 9] = (char)(round + (int)i);
		if (round % 7 == 0)
			msync(p, n * PAGE, MS_ASYNC);
		munmap(p, n * PAGE);
		for (size_t i = 0; i < n; i++)
			if (ct_in_file(fd,
				       at + (off_t)((first + i) * PAGE) + 9) !=
			    ((round + (int)i) & 255))
				lost++;
	}
	return NULL;
}

/* Keeps the cache under pressure with pages of the same file. */
static void *press(void *arg)
{
	volatile char *p = arg;

	for (int i = 0; i < 3000; i++)
		(void)p[i * 17 % (THREADS * SPAN) * (int)PAGE];
	return NULL;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS + 1];
	char *all;

	ct_begin(argc, argv);
	fd = ct_file("f", THREADS * SPAN * PAGE);
	all = ct_map(fd, THREADS * SPAN * PAGE, PROT_READ, MAP_SHARED, 0);
	for (long i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, work, (void *)i);
	pthread_create(&t[THREADS], NULL, press, all);
	for (int i = 0; i <= THREADS; i++)
		pthread_join(t[i], NULL);
	say("U07 stores lost: %d", lost);
	return 0;
}
