/* SPDX-License-Identifier: MIT */
/* K30: all threads are given one alternate signal stack, which is harmless as
 * long as no signal comes. They load and store at once; each finds what it
 * stored. */
#include "ct.h"

#include <pthread.h>
#include <stdatomic.h>

#define PAGES 512ul
#define THREADS 4
#define ROUNDS ct_rounds(3, 6)

static volatile char *map;
static char shared[80 << 10];
static _Atomic long bad, failed;

static void *worker(void *arg)
{
	const stack_t ss = { .ss_sp = shared, .ss_size = sizeof(shared) };
	size_t id = (size_t)(uintptr_t)arg, x = id + 1;
	stack_t old;

	if (sigaltstack(&ss, NULL) || sigaltstack(NULL, &old) ||
	    old.ss_sp != shared || old.ss_size != sizeof(shared))
		failed++;
	for (int r = 1; r <= ROUNDS; r++) {
		for (size_t k = 0; k < PAGES; k++) {
			size_t p = (k * 131 + id * 17) % PAGES;

			bad += map[p * PAGE + 64 + id] != r - 1;
			map[p * PAGE + 64 + id] = (char)r;
			x = x * 31 + (unsigned char)map[p * PAGE];
			bad += map[p * PAGE] != 1;
		}
	}
	return (void *)(uintptr_t)x;
}

int main(int argc, char **argv)
{
	pthread_t t[THREADS];
	void *x[THREADS];
	int fd;

	ct_begin(argc, argv);
	fd = ct_file("f", 0);
	if (ftruncate(fd, PAGES * PAGE))
		ct_die("ftruncate");
	for (size_t p = 0; p < PAGES; p++)
		ct_pwrite(fd, "\1", 1, (off_t)(p * PAGE));
	map = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_create(&t[i], NULL, worker, (void *)(uintptr_t)i);
	for (size_t i = 0; i < THREADS; i++) {
		pthread_join(t[i], &x[i]);
		x[i] = (void *)((uintptr_t)x[i] & 0xffff);
	}
	say("K30 wrong %ld, failed %ld, %lx %lx", (long)bad, (long)failed,
	    (unsigned long)(uintptr_t)x[0], (unsigned long)(uintptr_t)x[3]);
	return 0;
}
