/* SPDX-License-Identifier: MIT */
/* C32: a file is mapped for the first time while a write to it is in flight.
 * Whatever the mapping shows meanwhile, afterwards it shows what was written.
 * Buffered loads, which the file system does not order after the write. */
/* env: FASTMAP_IO=buffered */
/* env: FASTMAP_CACHE=64M */
#include "ct.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/uio.h>

#define N (24ul << 20)
#define ROUNDS ct_rounds(3, 6)

static int fd;
static uint64_t data[N / 8];
static pthread_barrier_t start;
static _Atomic int round_no;

enum how { PWRITE, WRITE, PWRITEV, FWRITE };
static enum how how;

static void write_all(void)
{
	struct iovec v = { data, N };
	char path[64];
	FILE *fp;

	switch (how) {
	case PWRITE:
		ct_pwrite(fd, data, N, 0);
		break;
	case WRITE:
		lseek(fd, 0, SEEK_SET);
		if (write(fd, data, N) != (ssize_t)N)
			ct_die("write");
		break;
	case PWRITEV:
		if (pwritev(fd, &v, 1, 0) != (ssize_t)N)
			ct_die("pwritev");
		break;
	case FWRITE:
		snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
		fp = fopen(path, "r+");
		if (!fp || fwrite(data, 1, N, fp) != N || fclose(fp))
			ct_die("fwrite");
		break;
	}
}

static void *writer(void *arg CT_UNUSED)
{
	for (int r = 1; r <= ROUNDS; r++) {
		for (size_t i = 0; i < N / 8; i++)
			data[i] = (uint64_t)r;
		pthread_barrier_wait(&start);
		write_all();
		atomic_store(&round_no, r);
		pthread_barrier_wait(&start);
	}
	return NULL;
}

/* Bytes that stayed behind. */
static int one_round(int r)
{
	const volatile uint64_t *p;
	int old = 0;

	pthread_barrier_wait(&start);
	usleep((useconds_t)(r * 37 % 400));
	p = (void *)ct_map(fd, N, PROT_READ, MAP_SHARED, 0);
	for (size_t i = 0; i < N / 8; i += PAGE / 8)
		(void)p[i];
	while (atomic_load(&round_no) != r)
		usleep(100);
	for (size_t i = 0; i < N / 8; i++)
		old += p[i] != (uint64_t)r;
	munmap((void *)(uintptr_t)p, N);
	pthread_barrier_wait(&start);
	return old != 0;
}

static void run(const char *what, enum how h, const char *name)
{
	pthread_t t;
	int bad = 0;

	how = h;
	fd = ct_file(name, N);
	atomic_store(&round_no, 0);
	pthread_create(&t, NULL, writer, NULL);
	for (int r = 1; r <= ROUNDS; r++)
		bad += one_round(r);
	pthread_join(t, NULL);
	close(fd);
	say("C32 %s: rounds in which the mapping stayed behind: %d", what, bad);
}

int main(int argc, char **argv)
{
	char *other;
	int ofd;

	ct_begin(argc, argv);
	pthread_barrier_init(&start, NULL, 2);
	run("pwrite", PWRITE, "a");
	run("fwrite", FWRITE, "d");
	/* The same while another file is mapped. */
	ofd = ct_file("other", PAGE);
	other = ct_map(ofd, PAGE, RW, MAP_SHARED, 0);
	other[1] = 1;
	run("write, another file mapped", WRITE, "e");
	run("pwritev, another file mapped", PWRITEV, "f");
	munmap(other, PAGE);
	return 0;
}
