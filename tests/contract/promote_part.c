/* SPDX-License-Identifier: MIT */
/* env: FASTMAP_PROMOTE=10 */
/* needs: signal */
/* not taken: to look at 65,000 mappings takes it long */
/*
 * C99b: a file of several mappings is to come back from the kernel, and the
 * program takes the last mapping that it may have as soon as one of them is
 * ours, and the last process (but root's are not counted). All mappings go on
 * agreeing with each other and with the file.
 */
#include "crowded.h"
#include "peers.h"
#include "views.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/resource.h>

#define N 256ul
#define MAPS 12
#define SOME 17 /* of their pages are looked at: every such one */
#define ROOM 72 /* mappings, for all that it takes to come back */
#define MOST_MS 1500
#define ROUNDS 2

static char *map[MAPS];
static int fd, maps_fd;
static _Atomic bool over, seen;

/* Side by side in a mapping of nothing: what is laid over one makes three. */
static void begin(const char *path)
{
	char *at = ct_map(-1, (MAPS + 2) * N * PAGE, PROT_NONE,
			  MAP_PRIVATE | MAP_ANONYMOUS, 0);

	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, N * PAGE))
		ct_die(path);
	for (int k = 0; k < MAPS; k++) {
		map[k] = at + ((k + 1) % MAPS + 1) * N * PAGE;
		if (mmap(map[k], N * PAGE, RW, MAP_SHARED | MAP_FIXED, fd, 0) !=
		    map[k])
			ct_die("mmap");
	}
	for (size_t i = 0; i < N; i++)
		map[i % MAPS][i * PAGE] = (char)i;
}

static size_t ours(void)
{
	size_t n = 0;

	for (int k = 0; k < MAPS; k++)
		n += crowd_asks(maps_fd, map[k]) == 0;
	return n;
}

static void processes(bool any)
{
	struct rlimit r;

	getrlimit(RLIMIT_NPROC, &r);
	r.rlim_cur = any ? r.rlim_max : 0;
	setrlimit(RLIMIT_NPROC, &r);
}

/* At once, whatever else runs here, as far as it may. */
static void *take_the_rest(void *arg)
{
	const struct sched_param first = { .sched_priority = 1 };
	const struct timespec moment = { .tv_nsec = 10000 };
	bool is_first = !pthread_setschedparam(pthread_self(), SCHED_FIFO,
					       &first);

	while (!over && !ours())
		if (is_first)
			nanosleep(&moment, NULL);
	seen = !over;
	processes(false);
	take(0);
	return arg;
}

static size_t agree(void)
{
	const struct views v = { map, MAPS, fd, N, SOME };

	return views_agree(&v);
}

/* Natively there is nothing to wait for. */
static void until_tried(void)
{
	for (int ms = 0; ms < MOST_MS && !seen; ms += 10)
		if (getenv("FASTMAP_PATHS"))
			usleep(10000);
	usleep(20000);
	over = true;
}

static size_t comes_back(const char *self, const char *path)
{
	struct peer p = peer_start(self, path, true);
	pthread_t t;

	peer_map(p, RW, N * PAGE);
	peer_store(p, 2000, 1);
	take(ROOM);
	over = seen = false;
	if (pthread_create(&t, NULL, take_the_rest, NULL))
		ct_die("pthread_create");
	peer_end(p);
	until_tried();
	pthread_join(t, NULL);
	processes(true);
	return agree();
}

int main(int argc, char **argv)
{
	const char *path;
	size_t wrong = 0, before;

	ct_begin(argc, argv);
	peer_role(argc, argv);
	path = strdup(ct_path("f"));
	maps_fd = crowd_maps_fd();
	begin(path);
	take(LAST); /* room to be the kernel's, and for the peer */
	before = taken;
	for (int i = 0; i < ROUNDS && !wrong; i++) {
		wrong += comes_back(argv[0], path);
		give_back(taken - before);
	}
	say("C99b: wrong %zu", wrong);
	return 0;
}
