/* SPDX-License-Identifier: MIT */
/*
 * burst.c - memory that the program takes at once, under a limit, beside files.
 *
 *   burst DIR FILE_MIB HOT_MIB OWN_MIB BURST_MIB MS TIMES [STAT LIMIT_MIB]
 *
 * Maps a file of FILE_MIB. One thread stores to pages of its first HOT_MIB over
 * and over, some of them in a row, another one reads all of it if there is
 * more. Meanwhile the program holds OWN_MIB, and TIMES times takes BURST_MIB
 * more within MS, and gives them back (as malloc's arenas do). Prints how many
 * words were wrong. STAT is memory.stat of the control group that has
 * LIMIT_MIB: where less than ROOM_MIB of that are left, it waits until there is
 * more, so that a slow disk makes it slower and not die; 20 s are too long.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "room.h"

#define PAGE 4096ul
#define MIB (1ul << 20)
#define WORDS (PAGE / sizeof(uint64_t))
#define ROOM_MIB 24 /* the library leaves twice as much of 768 */

static uint64_t pages, hot;
static uint64_t *map;
static const char *stat_path;
static uint64_t limit_mib;
static _Atomic bool stop;
static _Atomic uint64_t wrong;

/* Of each page the first word is its number, the second what was stored. */
static uint64_t *words(uint64_t page)
{
	return map + page * WORDS;
}

static void die(const char *what)
{
	perror(what);
	exit(9);
}

static void make(const char *dir)
{
	uint64_t page[WORDS] = { 0 };
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/burst", dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		die(path);
	for (uint64_t p = 0; p < pages; p++) {
		page[0] = p;
		if (write(fd, page, PAGE) != (ssize_t)PAGE)
			die("burst: write");
	}
	if (fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		die("burst: fsync");
	map = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   0);
	if (map == MAP_FAILED)
		die("burst: mmap");
}

static void *store(void *arg)
{
	uint64_t x = 88172645463325252ull, n = 0;

	for (uint64_t page = 0; page < hot; page++)
		words(page)[1] = ++n;
	while (!atomic_load(&stop) && hot) {
		uint64_t page;

		x ^= x << 13;
		x ^= x >> 7;
		x ^= x << 17;
		page = x % hot;
		for (uint64_t end = page + 64; page < end && page < hot;
		     page++) {
			atomic_fetch_add(&wrong, words(page)[0] != page);
			words(page)[1] = ++n;
		}
	}
	return NULL;
}

static void *scan(void *arg)
{
	while (!atomic_load(&stop) && hot < pages)
		for (uint64_t p = 0; p < pages && !atomic_load(&stop); p++)
			atomic_fetch_add(&wrong, words(p)[0] != p);
	return NULL;
}

/* In steps of a MiB, evenly. */
static char *take(uint64_t mib, uint64_t ms)
{
	char *mine = mmap(NULL, mib * MIB + 1, PROT_READ | PROT_WRITE,
			  MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

	if (mine == MAP_FAILED)
		die("burst: memory");
	for (uint64_t k = 0; k < mib; k++) {
		if (stat_path)
			wait_for_room(stat_path, limit_mib, ROOM_MIB);
		memset(mine + k * MIB, (int)k | 1, MIB);
		if (ms * 1000 / mib >= 100)
			usleep((useconds_t)(ms * 1000 / mib));
	}
	return mine;
}

int main(int argc, char **argv)
{
	uint64_t own, burst, ms, times;
	pthread_t storing, scanning;

	if (argc < 8)
		return 9;
	pages = strtoul(argv[1 + 1], NULL, 10) * (MIB / PAGE);
	hot = strtoul(argv[3], NULL, 10) * (MIB / PAGE);
	own = strtoul(argv[4], NULL, 10);
	burst = strtoul(argv[5], NULL, 10);
	ms = strtoul(argv[6], NULL, 10);
	times = strtoul(argv[7], NULL, 10);
	stat_path = argc > 9 ? argv[8] : NULL;
	limit_mib = argc > 9 ? strtoul(argv[9], NULL, 10) : 0;
	make(argv[1]);
	pthread_create(&storing, NULL, store, NULL);
	pthread_create(&scanning, NULL, scan, NULL);
	take(own, 1000);
	rest_ms(3000);
	for (uint64_t k = 0; k < times; k++) {
		char *more = take(burst, ms);

		rest_ms(50);
		munmap(more, burst * MIB + 1);
		rest_ms(300);
	}
	atomic_store(&stop, true);
	pthread_join(storing, NULL);
	pthread_join(scanning, NULL);
	printf("%lu MiB and %lu at once, %lu wrong\n", own, burst,
	       atomic_load(&wrong));
	return 0;
}
