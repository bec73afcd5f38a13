/* SPDX-License-Identifier: MIT */
/* U09: threads that map small windows of a file, over and over, while another
 * thread begins to store to the file through a mapping: a window shows every
 * store made before it is looked at, whenever it was mapped. */
/* env: FASTMAP_WARM=auto */
#include "ct.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <time.h>

#define PAGES 64ul
#define THREADS 2
#define ROUNDS 60
#define WINDOWS 300
#define STORES 40

static char path[4096], page[2 * PAGE];
static _Atomic uint64_t stored;
static _Atomic int ready, stop;
static _Atomic long behind, looks;

static void look(const char *p)
{
	uint64_t least = atomic_load(&stored);

	looks++;
	if (*(volatile const uint64_t *)p < least)
		behind++;
}

static uint64_t now_us(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (uint64_t)t.tv_sec * 1000000 + (uint64_t)t.tv_nsec / 1000;
}

/* Windows that come and go at once; then some that stay for a moment, with
 * moments between them in which nothing is mapped: the first store must
 * neither miss one nor find one each time. */
static void *map_windows(void *arg)
{
	unsigned seed = (unsigned)(uintptr_t)arg;
	int fd = open(path, O_RDONLY);

	for (unsigned i = 0; !atomic_load(&stop); i++) {
		char *p = ct_map(fd, 2 * PAGE, PROT_READ, MAP_SHARED, 0);
		uint64_t until = now_us();

		if (i > WINDOWS)
			until += (unsigned)rand_r(&seed) % 600;
		do
			look(p);
		while (now_us() < until);
		munmap(p, 2 * PAGE);
		if (i > WINDOWS)
			usleep((unsigned)rand_r(&seed) % 600);
		if (i == WINDOWS)
			atomic_fetch_add(&ready, 1);
	}
	close(fd);
	return NULL;
}

static void store(int fd)
{
	char *p = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);

	for (int i = 0; i < STORES; i++) {
		uint64_t v = atomic_load(&stored) + 1;

		*(volatile uint64_t *)p = v;
		atomic_store(&stored, v);
		usleep(20);
	}
	munmap(p, PAGES * PAGE);
}

static void one_round(int round)
{
	pthread_t t[THREADS];
	char name[16], *whole;
	int fd, ro;

	snprintf(name, sizeof(name), "race%d", round % 4);
	fd = ct_file(name, PAGES * PAGE);
	snprintf(path, sizeof(path), "%s/%s", ct_dir, name);
	ro = open(path, O_RDONLY);
	atomic_store(&stored, 0);
	ct_pwrite(fd, &(uint64_t){ 0 }, 8, 0);
	/* Out of the page cache, or the kernel keeps all of it. */
	if (ro < 0 || fsync(fd) ||
	    posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		ct_die("file");
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
	store(fd);
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
	say("U09 windows that did not show a store: %ld; looked often: %s",
	    atomic_load(&behind), atomic_load(&looks) > 10000 ? "yes" : "no");
	return 0;
}
