/* SPDX-License-Identifier: MIT */
/*
 * larger.c - a file that is larger than the memory for it, in ways that need
 * different advice, and calls that take parts of it away.
 *
 *   larger DIR FILE_MIB MS [beside]
 *
 * Half of it is read in no order while the other is read in a row, for so long;
 * then it is moved, grown, cut and replaced, and read by a child. Prints how
 * many words were wrong and what the calls answered. "beside": another thread
 * takes memory and gives it back all the time, with as many faults.
 */
#include <fcntl.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096ul
#define MIB (1ul << 20)
#define WORDS (PAGE / sizeof(uint64_t))

static uint64_t pages, wrong, rng = 88172645463325252ull;
static uint64_t *map;

static long ms(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000 + t.tv_nsec / 1000000;
}

static uint64_t any(uint64_t n)
{
	rng ^= rng << 13;
	rng ^= rng >> 7;
	rng ^= rng << 17;
	return (rng >> 11) % n;
}

/* Page p of the mapping, where the file has page p + off. */
static void look(uint64_t p, uint64_t off)
{
	volatile uint64_t *w = map + p * WORDS;

	wrong += *w != (p + off) * 7 + 1;
}

static int make(const char *dir)
{
	uint64_t page[WORDS] = { 0 };
	char path[4096];
	int fd;

	snprintf(path, sizeof(path), "%s/larger", dir);
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	for (uint64_t p = 0; p < pages; p++) {
		page[0] = p * 7 + 1;
		if (write(fd, page, PAGE) != PAGE)
			exit(2);
	}
	if (fd < 0 || fsync(fd))
		exit(2);
	posix_fadvise(fd, 0, 0, POSIX_FADV_DONTNEED);
	return fd;
}

static void read_both(long for_ms, uint64_t n)
{
	const long end = ms() + for_ms;
	uint64_t next = 0;

	while (ms() < end) {
		for (int k = 0; k < 20; k++)
			look(n / 2 + any(n / 2), 0);
		for (int k = 0; k < 2000; k++, next = (next + 1) % (n / 2))
			look(next, 0);
	}
}

#define BESIDE (4 * MIB)

static void *beside(void *arg)
{
	for (;;) {
		char *p = mmap(NULL, BESIDE, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		for (size_t k = 0; p != MAP_FAILED && k < BESIDE; k += PAGE)
			p[k] = 1;
		if (p != MAP_FAILED)
			munmap(p, BESIDE);
	}
	return NULL;
}

static void *move(uint64_t from, uint64_t to)
{
	void *p = mremap(map, from * PAGE, to * PAGE, MREMAP_MAYMOVE);

	printf("mremap %s\n", p == MAP_FAILED ? "failed" : "moved");
	return p == MAP_FAILED ? map : p;
}

static void by_a_child(long for_ms, uint64_t n)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		wrong = 0;
		read_both(for_ms, n);
		_exit(wrong != 0);
	}
	waitpid(pid, &status, 0);
	printf("child %d\n", status);
}

int main(int argc, char **argv)
{
	pthread_t id;
	long for_ms;
	uint64_t n;
	int fd;

	if (argc < 4 || (argc > 4 && pthread_create(&id, NULL, beside, NULL)))
		return 2;
	pages = strtoul(argv[2], NULL, 10) * MIB / PAGE;
	for_ms = strtol(argv[3], NULL, 10);
	fd = make(argv[1]);
	n = pages / 4 * 3;
	map = mmap(NULL, n * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		return 2;
	read_both(for_ms, n);
	map = move(n, pages);
	read_both(for_ms / 2, pages);
	by_a_child(for_ms / 2, pages);
	printf("munmap %d\n", munmap(map + pages / 2 * WORDS, PAGE * 16));
	if (mmap(map + pages / 4 * WORDS, MIB, PROT_READ,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0) == MAP_FAILED)
		return 2;
	printf("replaced %d\n", map[pages / 4 * WORDS] == 0);
	for (uint64_t p = 0; p < pages / 4; p++)
		look(p, 0);
	printf("wrong %lu\n", wrong);
	return 0;
}
