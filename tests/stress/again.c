/* SPDX-License-Identifier: MIT */
/*
 * again.c - files that are mapped, changed, unmapped and mapped again: what a
 * mapping finds of the time before must be what the file holds now.
 *
 *   again DIR [-d seconds] [-r seed] [-t threads]
 *
 * Each thread has a file of its own and knows the version of each page. A
 * round maps the file (whole or a part, for reading or writing, one in three
 * privately), checks and stores, and unmaps it; between rounds pages change by
 * pwrite, and the file shrinks and grows.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#define PAGE 4096ul
#define WORDS (PAGE / 8)
#define PAGES 768ul /* 3 MiB */

static const char *dir;
static unsigned seconds = 5, nthreads = 4;
static uint64_t seed = 1;
static _Atomic bool stop;
static _Atomic uint64_t rounds, checks;

struct worker {
	pthread_t thread;
	unsigned id;
	uint64_t rnd;
	int fd;
	uint64_t version[PAGES];
	bool private, own[PAGES]; /* its mapping; stored to there alone */
	char path[4096];
};

static void die(const char *what)
{
	fprintf(stderr, "again: %s: %s\n", what, strerror(errno));
	abort();
}

static uint64_t rnd(struct worker *w, uint64_t n)
{
	w->rnd ^= w->rnd << 13;
	w->rnd ^= w->rnd >> 7;
	w->rnd ^= w->rnd << 17;
	return (w->rnd * 0x2545f4914f6cdd1dull >> 11) % n;
}

static uint64_t stamp(const struct worker *w, uint64_t page)
{
	return w->version[page] ?
		       w->version[page] << 32 | (uint64_t)w->id << 16 | page :
		       0; /* a hole */
}

static void check(struct worker *w, const volatile uint64_t *p, uint64_t page)
{
	uint64_t want = stamp(w, page), a = p[0], b = p[WORDS - 1];

	atomic_fetch_add_explicit(&checks, 1, memory_order_relaxed);
	if (a == want && b == want)
		return;
	fprintf(stderr, "again: WRONG %s page %lu: %lx and %lx, want %lx\n",
		w->path, page, a, b, want);
	abort();
}

static void change_by_pwrite(struct worker *w)
{
	uint64_t page = rnd(w, PAGES), data[WORDS];

	w->version[page]++;
	for (uint64_t k = 0; k < WORDS; k++)
		data[k] = stamp(w, page);
	if (pwrite(w->fd, data, PAGE, (off_t)(page * PAGE)) != (ssize_t)PAGE)
		die("pwrite");
}

static void shrink_and_grow(struct worker *w)
{
	uint64_t at = rnd(w, PAGES);

	if (ftruncate(w->fd, (off_t)(at * PAGE)) ||
	    ftruncate(w->fd, (off_t)(PAGES * PAGE)))
		die("ftruncate");
	for (uint64_t p = at; p < PAGES; p++)
		w->version[p] = 0;
}

static void use(struct worker *w, volatile uint64_t *m, uint64_t first,
		uint64_t n, bool store)
{
	for (uint64_t k = 0; k < 200; k++) {
		uint64_t i = rnd(w, n), page = first + i;

		if (w->own[page])
			continue;
		check(w, m + i * WORDS, page);
		if (!store || rnd(w, 4))
			continue;
		if (w->private) {
			w->own[page] = true;
			m[i * WORDS] = m[i * WORDS + WORDS - 1] = ~0ull;
			continue;
		}
		/* Never back to a version that was there before. */
		w->version[page] += 2;
		m[i * WORDS] = m[i * WORDS + WORDS - 1] = stamp(w, page);
	}
}

static void one_round(struct worker *w)
{
	uint64_t first = rnd(w, 3) ? 0 : rnd(w, PAGES / 3);
	uint64_t n = PAGES - first;
	bool store = rnd(w, 2);
	int fd;
	void *m;

	w->private = !rnd(w, 3);
	memset(w->own, 0, sizeof(w->own));
	fd = open(w->path, store && !w->private ? O_RDWR : O_RDONLY);
	if (fd < 0)
		die(w->path);
	m = mmap(NULL, n * PAGE, PROT_READ | (store ? PROT_WRITE : 0),
		 w->private ? MAP_PRIVATE : MAP_SHARED, fd,
		 (off_t)(first * PAGE));
	if (m == MAP_FAILED)
		die("mmap");
	if (rnd(w, 2))
		close(fd), fd = -1;
	use(w, m, first, n, store);
	if (!rnd(w, 4)) {
		change_by_pwrite(w);
		use(w, m, first, n, store);
	}
	if (!rnd(w, 8) && msync(m, n * PAGE, MS_SYNC))
		die("msync");
	if (munmap(m, n * PAGE))
		die("munmap");
	if (fd >= 0)
		close(fd);
}

static void *worker(void *arg)
{
	struct worker *w = arg;

	while (!atomic_load(&stop)) {
		one_round(w);
		while (!rnd(w, 3))
			change_by_pwrite(w);
		if (!rnd(w, 30))
			shrink_and_grow(w);
		atomic_fetch_add(&rounds, 1);
	}
	return NULL;
}

/* At last by read(2), past every cache of ours. */
static void verify(struct worker *w)
{
	uint64_t data[WORDS];

	for (uint64_t p = 0; p < PAGES; p++) {
		if (pread(w->fd, data, PAGE, (off_t)(p * PAGE)) !=
		    (ssize_t)PAGE)
			die("pread");
		check(w, data, p);
	}
}

static void start(struct worker *w, unsigned id)
{
	w->id = id;
	w->rnd = seed * 1000003 + id + 1;
	snprintf(w->path, sizeof(w->path), "%s/again.%u", dir, id);
	w->fd = open(w->path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (w->fd < 0 || ftruncate(w->fd, (off_t)(PAGES * PAGE)))
		die(w->path);
	for (int k = 0; k < 500; k++)
		change_by_pwrite(w);
	if (pthread_create(&w->thread, NULL, worker, w))
		die("pthread_create");
}

int main(int argc, char **argv)
{
	struct worker *w;
	int c;

	while ((c = getopt(argc, argv, "d:r:t:")) != -1)
		switch (c) {
		case 'd': seconds = (unsigned)atoi(optarg); break;
		case 'r': seed = strtoull(optarg, NULL, 0); break;
		case 't': nthreads = (unsigned)atoi(optarg); break;
		default: return 2;
		}
	if (optind + 1 != argc || !nthreads)
		return 2;
	dir = argv[optind];
	w = calloc(nthreads, sizeof(*w));
	if (!w)
		die("calloc");
	for (unsigned k = 0; k < nthreads; k++)
		start(&w[k], k);
	sleep(seconds);
	atomic_store(&stop, true);
	for (unsigned k = 0; k < nthreads; k++) {
		pthread_join(w[k].thread, NULL);
		verify(&w[k]);
	}
	printf("again: %lu rounds, %lu checks\n", atomic_load(&rounds),
	       atomic_load(&checks));
	return 0;
}
