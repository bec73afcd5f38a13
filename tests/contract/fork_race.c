/* SPDX-License-Identifier: MIT */
/* C36: fork while other threads store. A store that a thread has made, and
 * then noted in ordinary memory, is in the child wherever the note is. */
#include "ct.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define THREADS 3
#define MAPS 6 /* of each thread */
#define PAGES 8 /* of each mapping */
#define LEN (PAGES * PAGE)
#define ROUNDS 8 /* with private mappings */
#define SHARED 2  /* with shared ones */

static char *map[THREADS][MAPS];
static _Atomic uint32_t *noted; /* [THREADS][MAPS]: what was stored last */
static _Atomic int go, running, forks;
static int fd, nround;

static size_t spot(int k)
{
	return (size_t)(k % PAGES) * PAGE + 64;
}

static uint32_t stored(int t, int k)
{
	return atomic_load((_Atomic uint32_t *)(map[t][k] + spot(k)));
}

static void store(int t, int k, uint32_t value)
{
	atomic_store((_Atomic uint32_t *)(map[t][k] + spot(k)), value);
	atomic_store(&noted[t * MAPS + k], value);
}

static long now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000 + t.tv_nsec;
}

/* A mapping's first store comes a little later after the call of each fork. */
static void *first_stores(void *arg)
{
	int t = (int)(intptr_t)arg;

	for (int k = 0; k < MAPS; k++) {
		long until;

		while (atomic_load(&forks) <= k)
			;
		until = now() + (nround * MAPS + k) % 24 * 25000 + t * 8000;
		while (now() < until)
			;
		store(t, k, 0x1000u + (uint32_t)k);
	}
	atomic_fetch_sub(&running, 1);
	return NULL;
}

static void *many_stores(void *arg)
{
	int t = (int)(intptr_t)arg;

	for (uint32_t v = 1; atomic_load(&go); v++)
		store(t, (int)(v * 7 % MAPS), v);
	atomic_fetch_sub(&running, 1);
	return NULL;
}

static void map_all(int flags)
{
	for (int t = 0; t < THREADS; t++)
		for (int k = 0; k < MAPS; k++)
			map[t][k] = ct_map(fd, LEN, RW, flags,
					   (off_t)(((size_t)t * MAPS +
						    (size_t)k) * LEN));
}

static void unmap_all(void)
{
	for (int t = 0; t < THREADS; t++)
		for (int k = 0; k < MAPS; k++)
			munmap(map[t][k], LEN);
}

/* Returns how many noted stores are not in this process. */
static int missing(void)
{
	int n = 0;

	for (int t = 0; t < THREADS; t++)
		for (int k = 0; k < MAPS; k++) {
			uint32_t want = atomic_load(&noted[t * MAPS + k]);

			n += want && stored(t, k) < want;
		}
	return n;
}

/* What the child misses; it leaves a mark in every mapping. */
static int fork_once(void)
{
	int status;
	pid_t pid = fork();

	if (pid < 0)
		ct_die("fork");
	if (pid == 0) {
		int n = missing();

		for (int t = 0; t < THREADS; t++)
			for (int k = 0; k < MAPS; k++)
				map[t][k][PAGE - 1] = 0; /* the file has none */
		_exit(n > 200 ? 200 : n);
	}
	if (waitpid(pid, &status, 0) != pid)
		ct_die("waitpid");
	return WIFEXITED(status) ? WEXITSTATUS(status) : 1000;
}

static char before(int t, int k)
{
	return (char)ct_byte(((size_t)t * MAPS + (size_t)k) * LEN + PAGE - 1);
}

/* Mappings in which the parent sees the child's mark. */
static int marks(void)
{
	int n = 0;

	for (int t = 0; t < THREADS; t++)
		for (int k = 0; k < MAPS; k++)
			n += map[t][k][PAGE - 1] != before(t, k);
	return n;
}

static void round_of(void *(*fn)(void *), int n, int *missed)
{
	pthread_t id[THREADS];

	for (int i = 0; i < THREADS * MAPS; i++)
		atomic_store(&noted[i], 0);
	atomic_store(&forks, 0);
	atomic_store(&go, 1);
	atomic_store(&running, THREADS);
	for (int t = 0; t < THREADS; t++)
		pthread_create(&id[t], NULL, fn, (void *)(intptr_t)t);
	for (; n > 0; n--) {
		atomic_fetch_add(&forks, 1);
		*missed += fork_once();
	}
	atomic_store(&go, 0);
	for (int t = 0; t < THREADS; t++)
		pthread_join(id[t], NULL);
}

static void rounds(const char *kind, int flags, int n,
		   void *(*fn)(void *), int nforks)
{
	int missed = 0, seen = 0, lost = 0;

	for (nround = 0; nround < n; nround++) {
		fd = ct_file(kind, THREADS * MAPS * LEN);
		map_all(flags);
		round_of(fn, nforks, &missed);
		seen += marks();
		lost += missing();
		unmap_all();
		close(fd);
		unlink(ct_path(kind));
	}
	say("C36 %s: missed in children %d, marks in the parent %d, lost %d",
	    kind, missed, seen, lost);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	noted = mmap(NULL, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	rounds("private", MAP_PRIVATE, ROUNDS, first_stores, MAPS);
	rounds("shared", MAP_SHARED, SHARED, many_stores, 2);
	return 0;
}
