/* SPDX-License-Identifier: MIT */
/* C35: the program writes the file with pwrite(2) and reads it through its
 * mapping, while another thread makes the kernel take the file over. It always
 * sees what it wrote. */
#include "ct.h"

#include <pthread.h>
#include <stdatomic.h>

#define PAGES 64
#define N (PAGES * PAGE)
#define ROUNDS 100

static char *map;
static int fd, bad, failed;
static _Atomic int stop;

static void *writer(void *arg CT_UNUSED)
{
	for (uint64_t k = 1; !atomic_load(&stop); k++) {
		size_t off = k * 7 % PAGES * PAGE + 16;

		if (pwrite(fd, &k, sizeof(k), (off_t)off) != sizeof(k))
			failed++;
		else
			bad += memcmp(map + off, &k, sizeof(k)) != 0;
	}
	return NULL;
}

static void one_round(int r)
{
	char name[16];
	pthread_t t;

	snprintf(name, sizeof(name), "f%d", r);
	fd = ct_file(name, N);
	map = ct_map(fd, N, r & 1 ? RW : PROT_READ, MAP_SHARED, 0);
	for (int i = 0; i < PAGES; i++)
		(void)((volatile char *)map)[i * PAGE];
	atomic_store(&stop, 0);
	pthread_create(&t, NULL, writer, NULL);
	usleep((useconds_t)(500 + r * 17 % 500));
	if (mlock(map + N - PAGE, PAGE))
		failed++;
	usleep(500);
	atomic_store(&stop, 1);
	pthread_join(t, NULL);
	munmap(map, N);
	close(fd);
	unlink(ct_path(name));
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	for (int r = 0; r < ROUNDS; r++)
		one_round(r);
	say("C35 other bytes %d, failed %d", bad, failed);
	return 0;
}
