/* SPDX-License-Identifier: MIT */
/* M90, R90: a part of the file is mapped over itself, by MAP_FIXED and by
 * mremap, while threads store there and through another mapping: no signal,
 * nothing is lost, and each mapping shows what was stored through the other. */
/* all ours */
#include "ct.h"

#include <pthread.h>
#include <stdatomic.h>

#define PAGES 64
#define PART (PAGES * PAGE)
#define ROUNDS 300

static int fd;
static char *at, *beside;
static _Atomic bool stop;
static _Atomic unsigned behind;
static _Atomic uint64_t last[PAGES]; /* what was stored to each */

static uint64_t see(char *map, unsigned page)
{
	return *(volatile uint64_t *)(map + page * PAGE);
}

/* Odd pages through the one mapping, even ones through the other. */
static void *writer(void *which)
{
	unsigned me = (unsigned)(uintptr_t)which, r = me;

	while (!stop) {
		unsigned page;

		r = r * 1103515245 + 12345;
		page = ((r >> 8) % PAGES & ~1u) | me; /* its own */
		*(volatile uint64_t *)((me ? at : beside) + page * PAGE) =
			last[page] + 1;
		last[page]++;
		behind += see(me ? beside : at, page) < last[page];
	}
	return NULL;
}

static void *reader(void *unused)
{
	for (unsigned r = 1; !stop;) {
		unsigned page;
		uint64_t least;

		r = r * 1103515245 + 12345;
		page = (r >> 8) % PAGES;
		least = last[page];
		behind += see(at, page) < least;
	}
	return unused;
}

static void replace(void)
{
	if (mmap(at, PART, RW, MAP_SHARED | MAP_FIXED, fd, 0) != at)
		ct_die("mmap");
}

static void move(void)
{
	char *p = ct_map(fd, PART, RW, MAP_SHARED, 0);

	if (ct_load(p) < 0 ||
	    mremap(p, PART, PART, MREMAP_MAYMOVE | MREMAP_FIXED, at) != at)
		ct_die("mremap");
}

static void run(const char *row, void (*change)(void))
{
	unsigned lost = 0;
	pthread_t t[3];

	behind = 0;
	stop = false;
	pthread_create(&t[0], NULL, writer, (void *)0);
	pthread_create(&t[1], NULL, writer, (void *)1);
	pthread_create(&t[2], NULL, reader, NULL);
	for (int i = 0; i < ROUNDS; i++)
		change();
	stop = true;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	for (unsigned page = 0; page < PAGES; page++)
		lost += see(at, page) != last[page] ||
			see(beside, page) != last[page];
	say("%s behind: %u, lost: %u", row, behind, lost);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	fd = ct_file("f", PART);
	at = ct_map(fd, PART, RW, MAP_SHARED, 0);
	beside = ct_map(fd, PART, RW, MAP_SHARED, 0);
	memset(at, 0, PART);
	run("M90", replace);
	run("R90", move);
	return 0;
}
