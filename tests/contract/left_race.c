/* SPDX-License-Identifier: MIT */
/* U12: a thread that maps windows too short for the engine, over and over,
 * while another maps all of the file, stores to it and unmaps it: a window
 * shows every store made before it is looked at, whenever it was mapped. */
/* env: FASTMAP_MIN_SIZE=1M */
/* env: FASTMAP_WARM=engine */
#include "race.h"

#define PAGES 512ul
#define FILES ct_rounds(6, 20)
#define ROUNDS 20
#define STORES 10

/* Some are gone at once, some stay until all of the file has been mapped; with
 * moments between them in which nothing is. */
static void *map_windows(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;
	int fd = open(path, O_RDONLY);

	while (!atomic_load(&stop)) {
		unsigned us = rand_r(&seed) % 2 ?
				      (unsigned)rand_r(&seed) % 1000 : 0;

		map_window(fd, us);
		usleep((unsigned)rand_r(&seed) % 2000);
	}
	close(fd);
	return NULL;
}

/* Whoever has once found both would leave the file to the kernel for good:
 * another file each time. */
static void one_file(int k)
{
	unsigned seed = (unsigned)k;
	char name[16];
	pthread_t t;
	int fd;

	snprintf(name, sizeof(name), "race%d", k);
	fd = race_file(name, PAGES * PAGE);
	munmap(ct_map(fd, 2 * PAGE, PROT_READ, MAP_SHARED, 0), 2 * PAGE);
	atomic_store(&stop, 0);
	pthread_create(&t, NULL, map_windows, (void *)(uintptr_t)k);
	for (int i = 0; i < ROUNDS; i++) {
		store_all(fd, PAGES * PAGE, STORES);
		usleep((unsigned)rand_r(&seed) % 2000);
	}
	atomic_store(&stop, 1);
	pthread_join(t, NULL);
	close(fd);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	for (int i = 0; i < FILES; i++)
		one_file(i);
	say_behind("U12");
	return 0;
}
