/* SPDX-License-Identifier: MIT */
/* U09: threads that map small windows of a file, over and over, while another
 * thread begins to store to the file through a mapping: a window shows every
 * store made before it is looked at, whenever it was mapped. */
/* env: FASTMAP_WARM=auto */
/* env: FASTMAP_TUNE=serve_start=0 */
#include "race.h"

#include <sys/syscall.h>

#define PAGES 64ul
#define THREADS 2
#define ROUNDS ct_rounds(20, 60)
#define WINDOWS 300
#define STORES 40

static char page[2 * PAGE];
static _Atomic int ready;

/* Windows that come and go at once; then some that stay for a moment, with
 * moments between them in which nothing is mapped: the first store must
 * neither miss one nor find one each time. */
static void *map_windows(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;
	int fd = open(path, O_RDONLY);

	for (unsigned i = 0; !atomic_load(&stop); i++) {
		map_window(fd, i > WINDOWS ? (unsigned)rand_r(&seed) % 600 : 0);
		if (i > WINDOWS)
			usleep((unsigned)rand_r(&seed) % 600);
		if (i == WINDOWS)
			atomic_fetch_add(&ready, 1);
	}
	close(fd);
	return NULL;
}

static void one_round(int round)
{
	pthread_t t[THREADS];
	char name[16], *whole;
	int fd, ro;

	snprintf(name, sizeof(name), "race%d", round % 4);
	fd = race_file(name, PAGES * PAGE);
	ro = open(path, O_RDONLY);
	ct_uncache(fd);
	whole = ct_map(ro, PAGES * PAGE, PROT_READ, MAP_SHARED, 0);
	/* Now into the page cache: windows may be the kernel's. */
	if (ct_raw(SYS_pread64, ro, (long)page, sizeof(page), 0) < 0)
		ct_die("pread");
	atomic_store(&ready, 0);
	atomic_store(&stop, 0);
	for (int i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, map_windows,
			       (void *)(uintptr_t)(round * THREADS + i));
	while (atomic_load(&ready) < THREADS)
		look(whole);
	usleep((unsigned)round * 37 % 1000);
	store_all(fd, PAGES * PAGE, STORES);
	look(whole);
	atomic_store(&stop, 1);
	for (int i = 0; i < THREADS; i++)
		pthread_join(t[i], NULL);
	munmap(whole, PAGES * PAGE);
	close(ro);
	close(fd);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	for (int i = 0; i < ROUNDS; i++)
		one_round(i);
	say_behind("U09");
	return 0;
}
