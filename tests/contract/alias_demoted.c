/* SPDX-License-Identifier: MIT */
/* C95: a file with two mappings is handed to the kernel while a thread stores
 * through one and looks through the other: it sees its own stores at any time.
 */
#include "ct.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/syscall.h>

#define PAGES 64
#define ROUNDS 40

static char *map, *alias;
static atomic_int stop, bad;

static void *store_and_look(void *arg CT_UNUSED)
{
	for (unsigned n = 1; !stop; n++)
		for (size_t at = 0; at < PAGES * PAGE && !stop; at += PAGE) {
			*(volatile unsigned *)(alias + at) = n;
			bad += *(volatile unsigned *)(map + at) != n;
		}
	return NULL;
}

static void one(void)
{
	int fd = ct_file("f", PAGES * PAGE);
	pthread_t id;

	map = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	alias = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	stop = 0;
	pthread_create(&id, NULL, store_and_look, NULL);
	usleep(10000);
	syscall(SYS_futex, map, FUTEX_WAKE, 1, NULL, NULL, 0); /* the cause */
	usleep(1000);
	stop = 1;
	pthread_join(id, NULL);
	munmap(map, PAGES * PAGE);
	munmap(alias, PAGES * PAGE);
	close(fd);
	unlink(ct_path("f"));
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	for (int i = 0; i < ROUNDS; i++)
		one();
	say("C95 looks that missed the thread's own store: %d", bad);
	return 0;
}
