/* SPDX-License-Identifier: MIT */
/* K36: a thread that asks libc for no memory gets no arena of it, also if it
 * was made while all signals are blocked. glibc's arenas keep free memory each:
 * with more of them a program needs more than without us. */
#include "ct.h"

#include <malloc.h>
#include <pthread.h>
#include <signal.h>
#include <threads.h>

#define N (64 * PAGE)
#define THREADS 6

static char *p;
static pthread_barrier_t all;

static unsigned arenas(void)
{
	static char text[65536];
	FILE *fp = fmemopen(text, sizeof(text) - 1, "w");
	unsigned n = 0;

	malloc_info(0, fp);
	fclose(fp);
	for (char *at = text; (at = strstr(at, "<heap nr")); at++)
		n++;
	return n;
}

static void touch(long k)
{
	p[k * PAGE] = (char)k;
	pthread_barrier_wait(&all);
	pthread_barrier_wait(&all);
}

static void *posix(void *arg)
{
	touch((long)arg);
	return NULL;
}

static int c11(void *arg)
{
	touch((long)arg);
	return 0;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	thrd_t c[THREADS];
	unsigned before, sum = 0;
	sigset_t every;

	ct_begin(argc, argv);
	p = ct_map(ct_file("f", N), N, RW, MAP_SHARED, 0);
	pthread_barrier_init(&all, NULL, 2 * THREADS + 1);
	before = arenas();
	sigfillset(&every);
	pthread_sigmask(SIG_BLOCK, &every, NULL);
	for (long k = 0; k < THREADS; k++) {
		pthread_create(&t[k], NULL, posix, (void *)k);
		thrd_create(&c[k], c11, (void *)(THREADS + k));
	}
	pthread_barrier_wait(&all);
	say("K36 more arenas with threads: %u", arenas() - before);
	pthread_barrier_wait(&all);
	for (long k = 0; k < THREADS; k++) {
		pthread_join(t[k], NULL);
		thrd_join(c[k], NULL);
	}
	for (long k = 0; k < 2 * THREADS; k++)
		sum += (unsigned)p[k * PAGE];
	say("K36 sum of what they stored: %u", sum);
	return 0;
}
