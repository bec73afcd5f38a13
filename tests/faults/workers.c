/* SPDX-License-Identifier: MIT */
/*
 * workers.c - workers begin at once on one file, in memory that is too little
 * for a cache in each of them.
 *
 *   workers DIR FILE_MIB WORKERS STORES
 *
 * Each maps the file when it has been forked, and stores so often to a word of
 * its own in pages at random. How many stores the file shows in the end; exit
 * status 1: a worker was killed.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#define PAGE 4096ul
#define MIB (1ul << 20)

static uint64_t pages;

static int make(const char *path)
{
	static const char page[PAGE];
	int fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);

	for (uint64_t p = 0; p < pages; p++)
		if (write(fd, page, PAGE) != (ssize_t)PAGE)
			return -1;
	if (fsync(fd) || posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED))
		return -1;
	return fd;
}

static uint64_t *map_file(const char *path)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	void *p = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
		       fd, 0);

	close(fd);
	if (p == MAP_FAILED)
		_exit(3);
	return p;
}

static void work(const char *path, unsigned k, unsigned stores)
{
	uint64_t *map = map_file(path), rng = 88172645463325252ull + k;

	for (unsigned i = 0; i < stores; i++) {
		rng = rng * 6364136223846793005ull + 1442695040888963407ull;
		map[(rng >> 33) % pages * (PAGE / 8) + k]++;
	}
	_exit(0);
}

static int begin(int go, const char *path, unsigned k, unsigned stores)
{
	char byte;
	pid_t pid = fork();

	if (pid)
		return pid < 0;
	if (read(go, &byte, 1) != 1)
		_exit(2);
	work(path, k, stores);
	return 0;
}

static int wait_for(unsigned workers)
{
	int status, bad = 0;

	while (workers--)
		bad += wait(&status) < 0 || status != 0;
	return bad;
}

static uint64_t sum(const uint64_t *map, unsigned workers)
{
	uint64_t n = 0;

	for (uint64_t p = 0; p < pages; p++)
		for (unsigned k = 0; k < workers; k++)
			n += map[p * (PAGE / 8) + k];
	return n;
}

int main(int argc, char **argv)
{
	char path[4096], bytes[256] = "";
	unsigned workers, stores;
	int go[2], bad = 0;

	if (argc != 5)
		return 2;
	snprintf(path, sizeof(path), "%s/f", argv[1]);
	pages = strtoul(argv[2], NULL, 10) * MIB / PAGE;
	workers = (unsigned)atoi(argv[3]) % sizeof(bytes);
	stores = (unsigned)atoi(argv[4]);
	if (make(path) < 0 || pipe(go))
		return 2;
	for (unsigned k = 0; k < workers; k++)
		bad += begin(go[0], path, k, stores);
	if (write(go[1], bytes, workers) != (ssize_t)workers)
		return 2;
	bad += wait_for(workers);
	printf("%lu\n", (unsigned long)sum(map_file(path), workers));
	return bad > 0;
}
