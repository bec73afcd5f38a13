/* SPDX-License-Identifier: MIT */
/*
 * units.c - huge units under fire: a file mapped read-only, scanned by some
 * threads and read at random by others, four times as large as the cache, so
 * that units are read ahead, moved in, evicted, kept in standby and brought
 * back all the time, and others are put together from single pages by
 * MADV_COLLAPSE. Meanwhile pages of its first half change by pwrite, and
 * parts of it are dropped and advised. For the last quarter of the time a
 * second mapping, that stores are made through, comes and goes as well.
 *
 * With -p the mapping is private. Parts of it become writable for a while, and
 * what is stored in its last four units stays there and never reaches the file.
 *
 *   units FILE [-s MiB] [-d seconds] [-r seed] [-p]
 *
 * Every word of a page but the first carries the page's number. The first is
 * the page's version; floor_of[] has the last version whose change has
 * returned, and no read that begins later may see an older one.
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

#ifndef MADV_COLLAPSE
#define MADV_COLLAPSE 25
#endif
#define PAGE 4096ul
#define WORDS (PAGE / 8)
#define WINDOW 1024ul /* pages that the storing mapping covers */
#define CHANGED 64ul  /* one page in so many is ever changed */
#define OWN 2048ul    /* pages at the end, that may be the program's own */
#define MARK (1ul << 40) /* the first word of those that are */

static const char *path;
static uint64_t pages = 98304;
static unsigned seconds = 5;
static uint64_t seed = 1;
static int fd;
static volatile uint64_t *base;
static _Atomic uint64_t *floor_of;
static pthread_mutex_t *page_lock; /* of a changed page: one writer a time */
static _Atomic bool stop, alias;
static bool private;
static _Atomic uint64_t n_reads, n_changes, n_admin, n_collapsed;

static void die(const char *what)
{
	fprintf(stderr, "units: %s: %s\n", what, strerror(errno));
	abort();
}

static uint64_t rnd(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s * 0x2545f4914f6cdd1dull >> 11;
}

static void check(uint64_t p, uint64_t word)
{
	uint64_t want = atomic_load(&floor_of[p]);
	uint64_t v = base[p * WORDS], w = base[p * WORDS + word];

	if (v < want || (word && w != p)) {
		fprintf(stderr, "units: WRONG page %lu: version %lu, at least "
			"%lu wanted; word %lu is %lu\n", p, v, want, word, w);
		abort();
	}
	atomic_fetch_add_explicit(&n_reads, 1, memory_order_relaxed);
}

static void *scanner(void *arg)
{
	uint64_t s = seed * 77 + (uintptr_t)arg, p = rnd(&s) % pages;

	while (!atomic_load(&stop)) {
		check(p, 1 + rnd(&s) % (WORDS - 1));
		p = (p + 1) % pages;
		if (rnd(&s) % 100000 == 0)
			p = rnd(&s) % pages;
	}
	return NULL;
}

/* A hot set around the border between what changes and what does not. */
static void *reader(void *arg)
{
	uint64_t s = seed * 99 + (uintptr_t)arg, first = pages / 2 - pages / 32;

	while (!atomic_load(&stop))
		check(rnd(&s) % 1024 ? first + rnd(&s) % (pages / 16) :
				       rnd(&s) % pages,
		      1 + rnd(&s) % (WORDS - 1));
	return NULL;
}

static void changed(uint64_t p, uint64_t v)
{
	atomic_store(&floor_of[p], v);
	atomic_fetch_add_explicit(&n_changes, 1, memory_order_relaxed);
}

static void change_by_pwrite(uint64_t p)
{
	uint64_t v = atomic_load(&floor_of[p]) + 1;

	if (pwrite(fd, &v, 8, (off_t)(p * PAGE)) != 8)
		die("pwrite");
	changed(p, v);
}

static void *writer(void *arg)
{
	uint64_t s = seed * 55 + (uintptr_t)arg;

	while (!atomic_load(&stop)) {
		uint64_t k = rnd(&s) % (pages / 2 / CHANGED);

		pthread_mutex_lock(&page_lock[k]);
		change_by_pwrite(k * CHANGED);
		pthread_mutex_unlock(&page_lock[k]);
		usleep(2000);
	}
	return NULL;
}

static void change_by_stores(uint64_t first)
{
	_Atomic uint64_t *w = mmap(NULL, WINDOW * PAGE, PROT_READ | PROT_WRITE,
				   MAP_SHARED, fd, (off_t)(first * PAGE));

	if (w == MAP_FAILED)
		die("mmap of a window");
	for (uint64_t p = 0; p < WINDOW; p += CHANGED) {
		uint64_t k = (first + p) / CHANGED, v;

		pthread_mutex_lock(&page_lock[k]);
		v = atomic_load(&floor_of[first + p]) + 1;
		atomic_store(&w[p * WORDS], v);
		changed(first + p, v);
		pthread_mutex_unlock(&page_lock[k]);
	}
	if (munmap(w, WINDOW * PAGE))
		die("munmap of a window");
}

static void *storer(void *arg)
{
	uint64_t s = seed * 33 + (uintptr_t)arg;

	while (!atomic_load(&stop)) {
		if (atomic_load(&alias))
			change_by_stores(rnd(&s) % (pages / 2 / WINDOW) *
					 WINDOW);
		usleep(100000);
	}
	return NULL;
}

static void *admin(void *arg)
{
	static const int advice[] = { MADV_DONTNEED, MADV_WILLNEED,
				      MADV_NORMAL };
	uint64_t s = seed * 11 + (uintptr_t)arg;

	const uint64_t most = private ? pages - OWN : pages;

	while (!atomic_load(&stop)) {
		uint64_t p = rnd(&s) % most, n = rnd(&s) % 1024 + 1;

		if (n > most - p)
			n = most - p;
		if (madvise((char *)base + p * PAGE, n * PAGE,
			    advice[rnd(&s) % 3]))
			die("madvise");
		atomic_fetch_add(&n_admin, 1);
		usleep(100000);
	}
	return NULL;
}

/* A page on its own is brought in first, so that the others are, too. */
static void *collapser(void *arg)
{
	uint64_t s = seed * 22 + (uintptr_t)arg;

	while (!atomic_load(&stop)) {
		uint64_t p = rnd(&s) % (pages - 1024);

		check(p, 1 + rnd(&s) % (WORDS - 1));
		if (madvise((char *)base + p * PAGE, 1024 * PAGE,
			    MADV_COLLAPSE) == 0)
			atomic_fetch_add(&n_collapsed, 1);
		usleep(10000);
	}
	return NULL;
}

static uint64_t own_page(uint64_t k)
{
	return pages - OWN + k * 61 % OWN;
}

/* Of a private mapping: an own page more, amid those that were moved in, while
 * the other threads read. */
static void *owner(void *arg)
{
	uint64_t k = 0;

	for (; private && !atomic_load(&stop) && k < OWN / 16; k++) {
		char *at = (char *)base + own_page(k) / 512 * 512 * PAGE;

		if (mprotect(at, 512 * PAGE, PROT_READ | PROT_WRITE))
			die("mprotect");
		base[own_page(k) * WORDS] = MARK;
		if (k % 3 && mprotect(at, 512 * PAGE, PROT_READ))
			die("mprotect");
		usleep(10000);
	}
	return (void *)k;
}

static void check_own(uint64_t n)
{
	uint64_t v;

	for (uint64_t k = 0; k < n; k++)
		if (base[own_page(k) * WORDS] != MARK ||
		    pread(fd, &v, 8, (off_t)(own_page(k) * PAGE)) != 8 ||
		    v == MARK) {
			fprintf(stderr, "units: WRONG own page %lu\n", own_page(k));
			abort();
		}
}

/* One scan by one thread. Behind it, at all distances in turn, pages are read
 * or changed: in units that are mapped, in standby, or gone. */
static void look_back(void)
{
	uint64_t units = pages / 512;

	for (uint64_t p = 0; p < pages; p++) {
		uint64_t u = p / 512, back = (u * 7) % units;

		check(p, 1 + p % (WORDS - 1));
		if (p % 512 || back > u)
			continue;
		if (u % 4 == 0)
			change_by_pwrite((u - back) * 512);
		check((u - back) * 512, 1);
	}
}

static void make_file(void)
{
	static uint64_t page[WORDS];

	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0)
		die(path);
	for (uint64_t p = 0; p < pages; p++) {
		for (uint64_t k = 1; k < WORDS; k++)
			page[k] = p;
		if (pwrite(fd, page, PAGE, (off_t)(p * PAGE)) != (ssize_t)PAGE)
			die("pwrite");
	}
	if (fsync(fd))
		die("fsync");
}

static void setup(void)
{
	make_file();
	base = mmap(NULL, pages * PAGE, PROT_READ,
		    private ? MAP_PRIVATE : MAP_SHARED, fd, 0);
	if (base == MAP_FAILED)
		die("mmap");
	floor_of = calloc(pages, sizeof(*floor_of));
	page_lock = calloc(pages / CHANGED, sizeof(*page_lock));
	if (!floor_of || !page_lock)
		die("calloc");
	for (uint64_t k = 0; k < pages / CHANGED; k++)
		pthread_mutex_init(&page_lock[k], NULL);
}

static void options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "s:d:r:p")) != -1)
		switch (c) {
		case 's': pages = strtoull(optarg, NULL, 0) << 8; break;
		case 'd': seconds = (unsigned)atoi(optarg); break;
		case 'r': seed = strtoull(optarg, NULL, 0); break;
		case 'p': private = true; break;
		default: exit(2);
		}
	if (optind + 1 != argc || pages < 4 * WINDOW)
		exit(2);
	path = argv[optind];
}

int main(int argc, char **argv)
{
	static void *(*const role[])(void *) = { scanner, scanner, reader,
						 reader, writer, storer,
						 admin, collapser, owner };
	enum { N = sizeof(role) / sizeof(*role) };
	pthread_t t[N];
	void *own = NULL;

	options(argc, argv);
	setup();
	look_back();
	for (uintptr_t k = 0; k < N; k++)
		if (pthread_create(&t[k], NULL, role[k], (void *)(k + 1)))
			die("pthread_create");
	usleep(seconds * 750000);
	atomic_store(&alias, true);
	usleep(seconds * 250000);
	atomic_store(&stop, true);
	for (int k = 0; k < N; k++)
		pthread_join(t[k], &own);
	check_own((uintptr_t)own);
	for (uint64_t p = 0; p < pages; p++)
		check(p, 1 + p % (WORDS - 1));
	printf("units: %lu reads, %lu changes, %lu advices, %lu collapsed\n",
	       atomic_load(&n_reads), atomic_load(&n_changes),
	       atomic_load(&n_admin), atomic_load(&n_collapsed));
	return 0;
}
