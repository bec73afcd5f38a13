/* SPDX-License-Identifier: MIT */
/*
 * greedy.c - memory that the program needs for itself, under a limit.
 *
 *   greedy DIR FILE_MIB OWN_MIB SECONDS [STAT LIMIT_MIB]
 *
 * Maps a file of FILE_MIB, stores to half of its pages and reads all of them,
 * then takes OWN_MIB of memory of its own while it goes on with the file. The
 * kernel gives up page cache for that. Goes on for SECONDS with all of it,
 * stores included. Prints how many words were wrong, and how often the lowest
 * free descriptor was another one than at first. Where less than ROOM_MIB are
 * left of LIMIT_MIB of the control group with memory.stat STAT it waits
 * (room.h).
 */
#include <fcntl.h>
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
#define ROOM_MIB 12

static uint64_t pages;
static uint64_t *map;

static uint64_t *word(uint64_t page)
{
	return map + page * (PAGE / sizeof(*map));
}

/* Of each page: its number, or where it was stored to, that and one bit. */
static uint64_t content(uint64_t page)
{
	return page % 2 ? page | 1ul << 40 : page;
}

static void make(const char *dir)
{
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/greedy", dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0) {
		perror(path);
		exit(9);
	}
	for (uint64_t p = 0; p < pages; p++) {
		uint64_t page[PAGE / 8] = { p };

		if (write(fd, page, PAGE) != (ssize_t)PAGE) {
			perror("greedy: write");
			exit(9);
		}
	}
	if (fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		exit(9);
	map = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		   0);
	if (map == MAP_FAILED) {
		perror("greedy: mmap");
		exit(9);
	}
}

static uint64_t look(uint64_t first, uint64_t n)
{
	uint64_t wrong = 0;

	for (uint64_t p = first; p < first + n; p++)
		wrong += *word(p % pages) != content(p % pages);
	return wrong;
}

static uint64_t other_numbers(int lowest)
{
	uint64_t others = 0;

	for (int k = 0; k < 2000; k++) {
		int fd = dup(0);

		others += fd != lowest;
		close(fd);
	}
	return others;
}

/* What is stored is what is there: each page is written again and again. */
static uint64_t go_on(time_t seconds)
{
	time_t end = time(NULL) + seconds;
	uint64_t wrong = 0, p = 0;

	for (; time(NULL) < end; p += 7919) {
		wrong += look(p, 4);
		*word(p % pages) = content(p % pages);
	}
	return wrong;
}

int main(int argc, char **argv)
{
	const struct timespec pause = { 0, 1000000 };
	uint64_t wrong, own, others = 0;
	int lowest;

	if (argc < 5)
		return 9;
	pages = strtoul(argv[2], NULL, 10) * (MIB / PAGE);
	own = strtoul(argv[3], NULL, 10);
	make(argv[1]);
	for (uint64_t p = 1; p < pages; p += 2)
		*word(p) = content(p);
	wrong = look(0, pages);
	lowest = dup(0);
	close(lowest);
	for (uint64_t k = 0; k < own; k++) {
		char *mine = malloc(MIB);

		if (argc > 6)
			wait_for_room(argv[5], strtoul(argv[6], NULL, 10),
				      ROOM_MIB);
		if (!mine)
			return 9;
		memset(mine, (int)k + 1, MIB);
		wrong += look(k * 1009, 16);
		others += other_numbers(lowest);
		nanosleep(&pause, NULL);
	}
	wrong += go_on(strtol(argv[4], NULL, 10));
	wrong += look(0, pages);
	printf("%lu MiB of its own, %lu wrong, %lu others\n", own, wrong,
	       others);
	return 0;
}
