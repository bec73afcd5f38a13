/* SPDX-License-Identifier: MIT */
/* env: FASTMAP_PROMOTE=10 */
/* timeout: 60 */
/*
 * C99b: a file of several mappings is to come back from the kernel, and the
 * last of them has been sealed behind our back. As soon as one is ours there is
 * no process to be had any more (but root's are not counted). All mappings go
 * on agreeing with each other and with the file.
 */
#include "crowded.h"
#include "peers.h"
#include "views.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/resource.h>
#include <sys/syscall.h>

#ifndef SYS_mseal
#define SYS_mseal 462
#endif
#define N 64ul
#define MAPS 24
#define TRIED_MS 1800

static char *map[MAPS];
static int fd, maps_fd;
static _Atomic bool over;

static void begin(const char *path)
{
	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, N * PAGE))
		ct_die(path);
	for (size_t k = 0; k < MAPS; k++) {
		map[k] = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);
		ct_map(-1, PAGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, 0);
	}
	for (size_t i = 0; i < N; i++)
		map[i % MAPS][i * PAGE] = (char)i;
}

static size_t agree(void)
{
	const struct views v = { map, MAPS, fd, N, 1 };

	return views_agree(&v);
}

static bool one_is_ours(void)
{
	for (int k = 0; k < MAPS; k++)
		if (!crowd_asks(maps_fd, map[k]))
			return true;
	return false;
}

static void *take_the_processes(void *arg)
{
	const struct rlimit none = { 0, 0 };

	while (!over && !one_is_ours())
		;
	setrlimit(RLIMIT_NPROC, &none);
	return arg;
}

/* Natively there is nothing to wait for. */
static void until_tried(void)
{
	for (int ms = 0; getenv("FASTMAP_PATHS") && ms < TRIED_MS; ms += 10)
		usleep(10000);
	over = true;
}

int main(int argc, char **argv)
{
	const char *path;
	struct peer p;
	pthread_t t;

	ct_begin(argc, argv);
	peer_role(argc, argv);
	path = strdup(ct_path("f"));
	begin(path);
	maps_fd = crowd_maps_fd();
	p = peer_start(argv[0], path, true);
	peer_map(p, RW, N * PAGE);
	peer_store(p, 2000, 1);
	ct_raw(SYS_mseal, (long)map[MAPS - 1], N * PAGE, 0, 0);
	if (pthread_create(&t, NULL, take_the_processes, NULL))
		ct_die("pthread_create");
	peer_end(p);
	until_tried();
	pthread_join(t, NULL);
	say("C99b: wrong %zu", agree());
	return 0;
}
