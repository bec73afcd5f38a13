/* SPDX-License-Identifier: MIT */
/*
 * heads.h - pages of which words [0, HEAD) are written by write(2) and the last
 * word is stored to through a mapping, both with a number that only grows, by
 * several threads. PAGES is defined by who includes this; ct.h comes first.
 */
#include <pthread.h>
#include <stdatomic.h>

#define LAST (PAGE / 8 - 1)
#define HEAD 64

static _Atomic uint64_t written[PAGES], kept[PAGES];
static _Atomic int stop;
static _Atomic long old;
static int heads_fd;
static char *heads_map; /* shows what was written */

/* The same numbers each time. */
static uint64_t rnd(void)
{
	static uint64_t x = 88172645463325252ull;

	x ^= x << 13;
	x ^= x >> 7;
	x ^= x << 17;
	return x;
}

static volatile uint64_t *page(const char *map, size_t p)
{
	return (volatile uint64_t *)(map + p * PAGE);
}

/* Two of them: of even pages, and with an argument of odd ones. */
static void *head_writer(void *arg)
{
	uint64_t head[HEAD];

	for (uint64_t v = 1; !stop; v++) {
		size_t p = (v * 31 % (PAGES / 2)) * 2 + (arg != NULL);

		for (int i = 0; i < HEAD; i++)
			head[i] = v;
		ct_pwrite(heads_fd, head, sizeof(head), (off_t)(p * PAGE));
		atomic_store(&written[p], v);
		old += page(heads_map, p)[0] != v ||
		       page(heads_map, p)[HEAD - 1] != v;
	}
	return NULL;
}

static void heads_begin(int fd)
{
	static const char none[PAGE];

	heads_fd = fd;
	for (size_t p = 0; p < PAGES; p++) {
		ct_pwrite(fd, none, PAGE, (off_t)(p * PAGE));
		written[p] = 0;
		kept[p] = 0;
	}
	old = 0;
	stop = 0;
}

/* Threads run for so long; then, in how many pages does the file lack
 * something? */
static int heads_run(void *(*const run[])(void *), size_t n, unsigned us)
{
	pthread_t t[8];
	uint64_t last[2];
	int lost = 0;

	for (size_t i = 0; i < n; i++)
		pthread_create(&t[i], NULL, run[i], i == 1 ? &t : NULL);
	usleep(us);
	stop = 1;
	for (size_t i = 0; i < n; i++)
		pthread_join(t[i], NULL);
	for (size_t p = 0; p < PAGES; p++) {
		if (pread(heads_fd, &last[0], 8, (off_t)(p * PAGE)) != 8 ||
		    pread(heads_fd, &last[1], 8,
			  (off_t)(p * PAGE + LAST * 8)) != 8)
			ct_die("pread");
		lost += last[0] != written[p] || last[1] != kept[p];
	}
	return lost;
}
