/* SPDX-License-Identifier: MIT */
/*
 * edge.c - what is in use grows until it just does not fit into the cache that
 * serves it, and stays so.
 *
 *   edge DIR FILE_MIB FIRST_MIB SECONDS
 *
 * The file is mapped twice and read through one of the mappings, at random,
 * within a set of pages all over it: 256 of them more whenever nothing had to
 * be read, as long as the kernel does not serve the mapping, and 0.3 s
 * longer. "right", or how many words were wrong. Exit status 3: the kernel has
 * not come to serve it within SECONDS.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096ul
#define MIB (1ul << 20)
#define MORE 256
#define BATCH_MS 20
#define AFTER_MS 300
#define ODD 0x9e3779b1ul /* prime to the number of pages */

static uint64_t pages, hot, wrong, rng = 88172645463325252ull;
static char *map;

static long ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static long blocks(void)
{
	struct rusage r;

	getrusage(RUSAGE_SELF, &r);
	return r.ru_inblock;
}

static int make(const char *dir)
{
	static uint64_t page[PAGE / sizeof(uint64_t)];
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/f", dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	for (uint64_t p = 0; p < pages; p++) {
		page[0] = p * 7 + 1;
		if (write(fd, page, PAGE) != (ssize_t)PAGE)
			return -1;
	}
	if (fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		return -1;
	return fd;
}

static void touch(void)
{
	uint64_t p;

	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	p = (rng >> 11) % hot * ODD % pages;
	wrong += *(volatile uint64_t *)(map + p * PAGE) != p * 7 + 1;
}

static void touches(long some_ms)
{
	const long end = ms() + some_ms;

	while (ms() < end)
		for (int i = 0; i < 64; i++)
			touch();
}

/* Then the file has a name there. */
static int is_kernels(void)
{
	char line[4200], at[32];
	int found = 0;
	FILE *f = fopen("/proc/self/maps", "r");

	snprintf(at, sizeof(at), "%lx-", (unsigned long)map);
	while (f && !found && fgets(line, sizeof(line), f))
		found = !strncmp(line, at, strlen(at)) && strchr(line, '/');
	if (f)
		fclose(f);
	return found;
}

static void grow(long seconds)
{
	const long end = ms() + seconds * 1000;
	long before;

	while (!is_kernels() && ms() < end) {
		before = blocks();
		touches(BATCH_MS);
		if (blocks() == before && hot + MORE <= pages)
			hot += MORE;
	}
}

int main(int argc, char **argv)
{
	const size_t len = strtoul(argv[2], NULL, 0) * MIB;
	void *twice;
	int fd;

	pages = len / PAGE;
	hot = strtoul(argv[3], NULL, 0) * MIB / PAGE;
	fd = make(argv[1]);
	map = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
	twice = mmap(NULL, len, PROT_READ, MAP_SHARED, fd, 0);
	if (fd < 0 || map == MAP_FAILED || twice == MAP_FAILED)
		return 2;
	grow(strtol(argv[4], NULL, 0));
	touches(AFTER_MS);
	printf(wrong ? "%lu wrong\n" : "right\n", wrong);
	return is_kernels() ? 0 : 3;
}
