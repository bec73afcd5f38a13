/* SPDX-License-Identifier: MIT */
/* U12: a thread that maps windows too short for the engine, over and over, while
 * another maps all of the file, stores to it and unmaps it: a window shows every
 * store made before it is looked at, whenever it was mapped. */
/* env: FASTMAP_MIN_SIZE=1M FASTMAP_WARM=engine */
#include "ct.h"

#include <pthread.h>
#include <stdatomic.h>
#include <time.h>

#define PAGES 512ul
#define FILES 20
#define ROUNDS 20
#define STORES 10

static char path[4096];
static _Atomic uint64_t stored;
static _Atomic int stop;
static _Atomic long behind, looks;

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

static void look(const char *p)
{
	uint64_t least = atomic_load(&stored);

	looks++;
	if (*(volatile const uint64_t *)p < least)
		behind++;
}

/* Some are gone at once, some stay until all of the file has been mapped; with
 * moments between them in which nothing is. */
static void *map_windows(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;
	int fd = open(path, O_RDONLY);

	while (!atomic_load(&stop)) {
		char *p = ct_map(fd, 2 * PAGE, PROT_READ, MAP_SHARED, 0);
		uint64_t until = now_us();

		if (rand_r(&seed) % 2)
			until += (unsigned)rand_r(&seed) % 1000;
		do
			look(p);
		while (now_us() < until);
		munmap(p, 2 * PAGE);
		usleep((unsigned)rand_r(&seed) % 2000);
	}
	close(fd);
	return NULL;
}

static void store(int fd, unsigned *seed)
{
	char *p = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);

	for (int i = 0; i < STORES; i++) {
		uint64_t v = atomic_load(&stored) + 1;

		*(volatile uint64_t *)p = v;
		atomic_store(&stored, v);
		usleep(20);
	}
	munmap(p, PAGES * PAGE);
	usleep((unsigned)rand_r(seed) % 2000);
}

/* Whoever has once found both would leave the file to the kernel for good: another
 * file each time. */
static void one_file(int k)
{
	unsigned seed = (unsigned)k;
	char name[16];
	pthread_t t;
	int fd;

	snprintf(name, sizeof(name), "race%d", k);
	fd = ct_file(name, PAGES * PAGE);
	snprintf(path, sizeof(path), "%s/%s", ct_dir, name);
	atomic_store(&stored, 0);
	ct_pwrite(fd, &(uint64_t){ 0 }, 8, 0);
	munmap(ct_map(fd, 2 * PAGE, PROT_READ, MAP_SHARED, 0), 2 * PAGE);
	atomic_store(&stop, 0);
	pthread_create(&t, NULL, map_windows, (void *)(uintptr_t)k);
	for (int i = 0; i < ROUNDS; i++)
		store(fd, &seed);
	atomic_store(&stop, 1);
	pthread_join(t, NULL);
	close(fd);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	for (int i = 0; i < FILES; i++)
		one_file(i);
	say("U12 windows that did not show a store: %ld; looked often: %s",
	    atomic_load(&behind), atomic_load(&looks) > 10000 ? "yes" : "no");
	return 0;
}
