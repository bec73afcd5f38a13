/* SPDX-License-Identifier: MIT */
/* C68: a page is written to by a system call while another uses it as a buffer,
 * and a thread stores to another part of it. Neither is lost, not even while a
 * third keeps munmap busy. */
#include "ct.h"

#include <pthread.h>
#include <stdatomic.h>

#define PAGES 256ul
#define AT 128ul
#define ROUNDS 10
#define BUSY (1ul << 20)

static _Atomic bool stop;
static char *map;
static _Atomic uint64_t stored;

static void *use_it(void *arg)
{
	int out = *(int *)arg;

	while (!stop)
		if (pwrite(out, map + AT * PAGE - 300000,
			   600000 - 300000 + PAGE, 0) < 0)
			return NULL;
	return NULL;
}

static void *store(void *arg)
{
	_Atomic uint64_t *c = (void *)(map + AT * PAGE + 2048);

	uint64_t n = 0;

	do {
		atomic_store(c, ++n);
		atomic_store(&stored, n);
	} while (!stop);
	return arg;
}

static void *keep_busy(void *arg)
{
	int fd = *(int *)arg;

	while (!stop) {
		char *q = ct_map(fd, BUSY, RW, MAP_SHARED, 0);

		for (size_t i = 0; i < BUSY; i += PAGE)
			q[i] = 1;
		munmap(q, BUSY);
	}
	return NULL;
}

static void one(int n, int out, int busy, int *lost)
{
	uint64_t k = 0x1234567890ull + (uint64_t)n, in_map, in_file;
	pthread_t t[3];
	char name[16];
	int fd;

	snprintf(name, sizeof(name), "f%d", n);
	fd = ct_file(name, PAGES * PAGE);
	map = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	for (size_t i = 0; i < PAGES; i++)
		ct_load(map + i * PAGE);
	stop = false;
	stored = 0;
	pthread_create(&t[0], NULL, use_it, &out);
	pthread_create(&t[1], NULL, store, NULL);
	pthread_create(&t[2], NULL, keep_busy, &busy);
	usleep(2000);
	if (pwrite(fd, &k, sizeof(k), AT * PAGE) != sizeof(k))
		ct_die("pwrite");
	usleep(3000);
	stop = true;
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	memcpy(&in_map, map + AT * PAGE, sizeof(in_map));
	msync(map, PAGES * PAGE, MS_SYNC);
	if (pread(fd, &in_file, sizeof(in_file), AT * PAGE) != sizeof(in_file))
		ct_die("pread");
	lost[0] += in_map != k || in_file != k;
	memcpy(&in_map, map + AT * PAGE + 2048, sizeof(in_map));
	lost[1] += in_map != stored;
	munmap(map, PAGES * PAGE);
	close(fd);
	unlink(ct_path(name));
}

int main(int argc, char **argv)
{
	int out, busy, lost[2] = { 0 };

	ct_begin(argc, argv);
	out = ct_file("out", PAGES * PAGE);
	busy = ct_file("busy", BUSY);
	for (int n = 0; n < ROUNDS; n++)
		one(n, out, busy, lost);
	say("C68 lost: %d written, %d stored", lost[0], lost[1]);
	return 0;
}
