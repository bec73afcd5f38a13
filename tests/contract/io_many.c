/* SPDX-License-Identifier: MIT */
/* C37: more threads than any table has slots, each inside a system call with
 * a buffer in the mapping. */
/* needs: root */
#include "own_uffd.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/uio.h>

#define N 300
#define SIZE 24ul

static char *map, *missing;
static int q[2], plain;
static _Atomic int begun, bad;

static char *spot(int i)
{
	return map + (size_t)i * 2048 + 2040; /* every other one straddles */
}

static void *from_pipe(void *arg)
{
	int i = (int)(intptr_t)arg;

	atomic_fetch_add(&begun, 1);
	bad += read(q[0], spot(i), SIZE) != (ssize_t)SIZE;
	return NULL;
}

/* A regular file; its second part goes to a page that nobody has yet. */
static void *from_file(void *arg)
{
	int i = (int)(intptr_t)arg;
	struct iovec v[2] = { { spot(i), SIZE },
			      { missing + (size_t)i * PAGE, SIZE } };

	atomic_fetch_add(&begun, 1);
	bad += preadv(plain, v, 2, i * 64) != (ssize_t)(2 * SIZE);
	return NULL;
}

static void begin(pthread_t *id, void *(*fn)(void *))
{
	pthread_attr_t a;

	pthread_attr_init(&a);
	pthread_attr_setstacksize(&a, 128 << 10);
	atomic_store(&begun, 0);
	atomic_store(&bad, 0);
	for (int i = 0; i < N; i++)
		if (pthread_create(&id[i], &a, fn, (void *)(intptr_t)i))
			ct_die("pthread_create");
	while (atomic_load(&begun) < N)
		usleep(1000);
	usleep(50000);
}

static void end(pthread_t *id)
{
	for (int i = 0; i < N; i++)
		pthread_join(id[i], NULL);
}

static void pipes(void)
{
	static char text[N][SIZE];
	pthread_t id[N];
	int odd = 0;

	if (pipe(q))
		ct_die("pipe");
	begin(id, from_pipe);
	memset(text, 'p', sizeof(text));
	for (int i = 0; i < N; i++)
		if (write(q[1], text[i], SIZE) != (ssize_t)SIZE)
			ct_die("write");
	end(id);
	for (int i = 0; i < N; i++)
		odd += memcmp(spot(i), text[i], SIZE) != 0;
	say("C37 read from a pipe: failed %d, wrong %d", bad, odd);
}

static int user_faults(size_t len)
{
	int u = ct_uffd(0);

	missing = mmap(NULL, len, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (ct_uffd_watch(u, missing, len))
		ct_skip("no userfaultfd for the kernel's own faults");
	return u;
}

static void files(void)
{
	static char text[64];
	pthread_t id[N];
	int u = user_faults(N * PAGE), odd = 0;
	struct uffdio_zeropage z = { { (uintptr_t)missing, N * PAGE }, 0, 0 };

	plain = ct_file("plain", N * 64);
	begin(id, from_file);
	say("C37 one more call: %zd",
	    pread(plain, map + (N + 2) * 2048, sizeof(text), 0));
	if (ioctl(u, UFFDIO_ZEROPAGE, &z))
		ct_die("UFFDIO_ZEROPAGE");
	end(id);
	for (int i = 0; i < N; i++)
		odd += !ct_matches(spot(i), SIZE, (uint64_t)i * 64) ||
		       !ct_matches(missing + (size_t)i * PAGE, SIZE,
				   (uint64_t)i * 64 + SIZE);
	say("C37 read from a file: failed %d, wrong %d", bad, odd);
	close(u);
}

int main(int argc, char **argv)
{
	const size_t len = (N / 2 + 4) * PAGE;
	int fd, odd = 0;
	char buf[SIZE];

	ct_begin(argc, argv);
	fd = ct_file("f", len);
	map = ct_map(fd, len, RW, MAP_SHARED, 0);
	pipes();
	files();
	say_rc("C37 msync", msync(map, len, MS_SYNC));
	for (int i = 0; i < N; i++)
		odd += pread(fd, buf, SIZE, spot(i) - map) != (ssize_t)SIZE ||
		       memcmp(buf, spot(i), SIZE);
	say("C37 differs from the file: %d", odd);
	return 0;
}
