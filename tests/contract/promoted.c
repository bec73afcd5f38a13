/* SPDX-License-Identifier: MIT */
/* env: FASTMAP_PROMOTE=10 */
/*
 * C99: another process maps our file, stores to it, and goes; children of fork
 * do. Threads of ours store and look all the time, through the mapping, by
 * system calls on the file, and by calls that use the mapping as their buffer.
 * Each time the kernel serves the file while the other is there, and the engine
 * again a second later: that is waited for, where it comes (tests/checks/
 * promoted sees that it does).
 */
#include "peers.h"

#include <pthread.h>
#include <stdatomic.h>

#define PAGES 512ul
#define ROUNDS 2
#define MOST_MS 1500

static char *m;
static int fd;
static atomic_bool stop;
static _Atomic int wrong;

static void check(bool ok)
{
	if (!ok)
		atomic_fetch_add(&wrong, 1);
}

/* What went through a pipe, from the mapping and back into it. */
static bool by_pipe(const int *p, size_t at, uint64_t v)
{
	uint64_t got = 0;

	return write(p[1], m + at, 8) == 8 && read(p[0], &got, 8) == 8 &&
	       got == v && write(p[1], &got, 8) == 8 &&
	       read(p[0], m + at, 8) == 8;
}

/* Pages of its own: every fourth. */
static void *use(void *arg)
{
	size_t me = (size_t)arg;
	uint64_t count[PAGES] = { 0 };
	int p[2];

	if (pipe(p))
		ct_die("pipe");
	for (uint64_t n = 0; !stop; n++) {
		size_t page = n * 7 % (PAGES / 4) * 4 + me;
		size_t at = page * PAGE + 64;
		volatile uint64_t *word = (void *)(m + at);
		uint64_t v = count[page], got = 0;

		check(*word == v);
		*word = ++v;
		if (n % 16 == me)
			check(pread(fd, &got, 8, (off_t)at) == 8 && got == v);
		if (n % 16 == me + 4) {
			v++;
			check(pwrite(fd, &v, 8, (off_t)at) == 8);
		}
		if (n % 16 == me + 8)
			check(by_pipe(p, at, v));
		count[page] = v;
	}
	for (size_t page = me; page < PAGES; page += 4)
		check(*(uint64_t *)(void *)(m + page * PAGE + 64) ==
		      count[page]);
	close(p[0]);
	close(p[1]);
	return NULL;
}

static void until_promoted(void)
{
	for (int ms = 0; ms < MOST_MS && ct_is_the_kernels(m); ms += 10)
		if (getenv("FASTMAP_PATHS"))
			usleep(10000);
}

/* It stores beside us, and sees what we have stored before it came. */
static void visit(const char *self, const char *path, int i, bool native)
{
	struct peer p = peer_start(self, path, native);
	size_t at = (size_t)i * PAGE + 2000;

	peer_map(p, RW, PAGES * PAGE);
	m[at] = (char)(i + 1);
	peer_store(p, at + 1, (unsigned char)(i + 1));
	check(peer_load(p, at) == i + 1);
	peer_end(p);
	check(m[at + 1] == i + 1);
}

static int stores(void *arg)
{
	const size_t at = *(size_t *)arg;

	m[at + 3] = 6;
	return m[at + 2] != 5;
}

static void child(int i)
{
	size_t at = (size_t)i * PAGE + 2000;

	m[at + 2] = 5;
	check(!ct_child(stores, &at) && m[at + 3] == 6);
}

int main(int argc, char **argv)
{
	const char *path;
	pthread_t t[4];
	int lost = 0;

	ct_begin(argc, argv);
	peer_role(argc, argv);
	path = strdup(ct_path("f"));
	unlink(path);
	fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (fd < 0 || ftruncate(fd, PAGES * PAGE))
		ct_die(path);
	m = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	for (size_t i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, use, (void *)i);
	for (int i = 0; i < ROUNDS; i++) {
		visit(argv[0], path, i, i % 2);
		until_promoted();
		child(i);
		until_promoted();
	}
	stop = true;
	for (int i = 0; i < 4; i++)
		pthread_join(t[i], NULL);
	munmap(m, PAGES * PAGE);
	for (int i = 0; i < ROUNDS; i++)
		for (size_t k = 0; k < 4; k++)
			lost += ct_in_file(fd, (size_t)i * PAGE + 2000 + k) !=
				(k < 2 ? i + 1 : (int)k + 3);
	say("C99: wrong %d, lost %d", wrong, lost);
	return 0;
}
