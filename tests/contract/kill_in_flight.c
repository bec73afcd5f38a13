/* SPDX-License-Identifier: MIT */
/* A program that is killed while its pages are being written to the device.
 * What is written after its death must not meet these writes: the kernel would
 * tell the next who syncs the file of an error that there never was. */
#include "ct.h"

#include <pthread.h>

#define N (1024 * PAGE)
#define ROUNDS 16

static char *map;

static void *stores(void *arg)
{
	unsigned at = (unsigned)(size_t)arg;

	for (;;) {
		at = at * 1103515245u + 12345u;
		map[(at >> 8) % N] = 1;
	}
	return NULL;
}

/* Every mapping is a child's: fork would hand ours over. */
static void child(int ready)
{
	pthread_t t;

	map = ct_map(open(ct_path("f"), O_RDWR), N, RW, MAP_SHARED, 0);
	for (size_t i = 1; i < 3; i++)
		pthread_create(&t, NULL, stores, (void *)i);
	ct_pwrite(ready, "", 1, 0);
	for (;;)
		msync(map, N, MS_SYNC);
}

static void kill_one(int n)
{
	int ready = open(ct_path("ready"), O_RDWR | O_CREAT | O_TRUNC, 0644);
	struct stat st = { .st_size = 0 };
	pid_t pid = fork();

	if (pid < 0)
		ct_die("fork");
	if (!pid)
		child(ready);
	while (!st.st_size) {
		usleep(1000);
		fstat(ready, &st);
	}
	usleep((useconds_t)(5000 + n * 1700));
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	close(ready);
}

/* The mmap waits until nobody writes for the dead any more. */
static int sync_it(void)
{
	int fd = open(ct_path("f"), O_RDWR), err;
	char *m = ct_map(fd, N, RW, MAP_SHARED, 0);

	ct_load(m + N / 2);
	err = fsync(fd) || msync(m, N, MS_SYNC) ? errno : 0;
	munmap(m, N);
	close(fd);
	return err;
}

int main(int argc, char **argv)
{
	int failed = 0;

	ct_begin(argc, argv);
	close(ct_file("f", N));
	for (int i = 0; i < ROUNDS; i++) {
		kill_one(i);
		failed += sync_it() != 0;
	}
	say("K32 sync after a kill says an error: %d times", failed);
	return 0;
}
