/* SPDX-License-Identifier: MIT */
/* R09: a part of a file moves over another part of the same file, while
 * threads store to both and write(2) to all of it. */
#include "ct.h"

#include <pthread.h>
#include <stdatomic.h>

#define PAGES 256
#define PART (64 * PAGE)

static int fd;
static char *all;
static _Atomic bool stop;

static void *writer(void *unused)
{
	static char buf[PAGES * PAGE];

	memset(buf, 7, sizeof(buf));
	while (!stop)
		ct_pwrite(fd, buf, sizeof(buf), 0);
	return NULL;
}

static void *storer(void *unused)
{
	unsigned r = 1;

	while (!stop) {
		r = r * 1103515245 + 12345;
		all[(r >> 8) % (PAGES * PAGE)] = 7;
	}
	return NULL;
}

/* The high pages are mapped where the low ones go. */
static int move(void)
{
	char *to = ct_map(fd, PART, RW, MAP_SHARED, 128 * PAGE);
	char *from = ct_map(fd, PART, RW, MAP_SHARED, 0);
	int wrong = 0;

	for (size_t i = 0; i < PART; i += PAGE)
		to[i] = from[i] = 7;
	if (mremap(from, PART, PART, MREMAP_MAYMOVE | MREMAP_FIXED, to) != to)
		ct_die("mremap");
	for (size_t i = 0; i < PART; i += PAGE)
		wrong += to[i] != 7;
	munmap(to, PART);
	return wrong;
}

int main(int argc, char **argv)
{
	pthread_t t[2];
	int wrong = 0;

	ct_begin(argc, argv);
	fd = ct_file("f", PAGES * PAGE);
	all = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	memset(all, 7, PAGES * PAGE);
	pthread_create(&t[0], NULL, writer, NULL);
	pthread_create(&t[1], NULL, storer, NULL);
	for (int i = 0; i < 25; i++)
		wrong += move();
	stop = true;
	for (int i = 0; i < 2; i++)
		pthread_join(t[i], NULL);
	say("R09 wrong %d", wrong);
	return 0;
}
