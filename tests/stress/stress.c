/* SPDX-License-Identifier: MIT */
/*
 * stress.c - many threads against one mapped file larger than any cache.
 *
 *   stress FILE [-s MiB] [-t threads] [-d seconds] [-r seed] [-o ops]
 *   stress -v FILE       check FILE against the journal left in FILE.journal
 *
 * Every line of the file belongs to one thread, which alone stores to it; all
 * threads read all lines. A journal in private memory names the last version
 * whose store has completed, and a reader that finds the journal unchanged
 * around its read demands exactly that version (see line.h). Meanwhile the
 * same threads sync, advise, protect, replace and remap the same memory and
 * use read(2) and write(2) on the same lines, through two mappings of
 * different length.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "line.h"

#define REGIONS 64
#define PAGE 4096ul

static const char *path;
static uint64_t size = 256ul << 20;
static unsigned nthreads = 16;
static unsigned seconds = 10;
static uint64_t seed = 1;
static uint64_t max_ops = UINT64_MAX;

static int fd;
static char *base;    /* the whole file */
static char *alias;   /* the first third of it, again */
static uint64_t alias_len;
static _Atomic uint32_t *journal;
static pthread_rwlock_t region_lock[REGIONS];
static _Atomic bool stop;
static _Atomic uint64_t n_ops, n_stores, n_loads, n_admin, n_retries;

struct worker {
	pthread_t thread;
	unsigned id;
	uint64_t rnd;
	uint64_t cursor;
};

static uint64_t rnd(struct worker *w)
{
	w->rnd ^= w->rnd << 13;
	w->rnd ^= w->rnd >> 7;
	w->rnd ^= w->rnd << 17;
	return w->rnd * 0x2545f4914f6cdd1dull >> 11;
}

static void die(const char *what)
{
	fprintf(stderr, "stress: %s: %s\n", what, strerror(errno));
	abort();
}

static void wrong(uint64_t off, uint64_t v, const char *via,
		  const struct line *l)
{
	fprintf(stderr,
		"stress: WRONG offset %#llx (page %llu) via %s: want version %llu\n",
		(unsigned long long)off, (unsigned long long)(off / PAGE), via,
		(unsigned long long)v);
	slot_print(stderr, "slot 0", &l->slot[0]);
	slot_print(stderr, "slot 1", &l->slot[1]);
	abort();
}

static uint64_t region_size(void)
{
	return size / REGIONS;
}

/* A line index: uniformly random, in a run, or in a hot set. */
static uint64_t pick(struct worker *w)
{
	uint64_t lines = size / LINE_SIZE, r = rnd(w);

	switch (r % 4) {
	case 0:
		return rnd(w) % lines;
	case 1:
		return rnd(w) % (lines / 64);
	default:
		w->cursor += r >> 8 & 63;
		if (w->cursor >= lines || (r >> 20) % 512 == 0)
			w->cursor = rnd(w) % lines;
		return w->cursor;
	}
}

static struct line *at(struct worker *w, uint64_t off, const char **via)
{
	if (off < alias_len && rnd(w) % 2) {
		*via = "alias";
		return (struct line *)(alias + off);
	}
	*via = "map";
	return (struct line *)(base + off);
}

static void load(struct worker *w, uint64_t idx)
{
	uint64_t off = idx * LINE_SIZE;
	const char *via;
	struct line *l = at(w, off, &via);
	struct line copy;
	uint32_t v, again;

	do {
		v = atomic_load_explicit(&journal[idx], memory_order_acquire);
		if (rnd(w) % 64 == 0) {
			via = "pread";
			if (pread(fd, &copy, sizeof(copy), (off_t)off) !=
			    sizeof(copy))
				die("pread");
		} else {
			copy.slot[v & 1] = slot_load(&l->slot[v & 1]);
		}
		atomic_thread_fence(memory_order_acquire);
		again = atomic_load_explicit(&journal[idx],
					     memory_order_acquire);
		if (v != again)
			atomic_fetch_add(&n_retries, 1);
	} while (v != again);
	if (!slot_is(&copy.slot[v & 1], off, v)) {
		copy.slot[0] = slot_load(&l->slot[0]);
		copy.slot[1] = slot_load(&l->slot[1]);
		wrong(off, v, via, &copy);
	}
}

static void store(struct worker *w, uint64_t idx)
{
	uint64_t lines = size / LINE_SIZE, off;
	const char *via;
	struct line *l;
	uint32_t v;

	/* the next one that is mine */
	idx += w->id + nthreads - idx % nthreads;
	if (idx >= lines)
		idx = w->id;
	off = idx * LINE_SIZE;
	l = at(w, off, &via);
	v = atomic_load_explicit(&journal[idx], memory_order_relaxed) + 1;
	if (rnd(w) % 128 == 0) {
		struct slot s = slot_make(off, v);
		off_t to = (off_t)(off + (v & 1) * sizeof(s));

		if (pwrite(fd, &s, sizeof(s), to) != sizeof(s))
			die("pwrite");
	} else {
		line_store(l, off, v);
	}
	atomic_store_explicit(&journal[idx], v, memory_order_release);
}

/* Loads and stores under the region lock, against which the operations that
 * take access away (mprotect, replacement) are exclusive. The alias is the
 * same region, so that one lock covers both. */
static void access_batch(struct worker *w)
{
	unsigned n = 1 + rnd(w) % 64;

	while (n--) {
		uint64_t idx = pick(w);
		uint64_t r = idx * LINE_SIZE / region_size();

		/* a store may step into the next region */
		if (r >= REGIONS - 1)
			r = REGIONS - 1;
		pthread_rwlock_rdlock(&region_lock[r]);
		if (r + 1 < REGIONS)
			pthread_rwlock_rdlock(&region_lock[r + 1]);
		if (rnd(w) % 2) {
			store(w, idx);
			atomic_fetch_add_explicit(&n_stores, 1,
						  memory_order_relaxed);
		} else {
			load(w, idx);
			atomic_fetch_add_explicit(&n_loads, 1,
						  memory_order_relaxed);
		}
		if (r + 1 < REGIONS)
			pthread_rwlock_unlock(&region_lock[r + 1]);
		pthread_rwlock_unlock(&region_lock[r]);
	}
}

static void random_range(struct worker *w, char **ret_addr, size_t *ret_len)
{
	bool second = rnd(w) % 4 == 0;
	uint64_t pages = (second ? alias_len : size) / PAGE;
	uint64_t first = rnd(w) % pages;
	uint64_t n = 1 + rnd(w) % (rnd(w) % 16 ? 32 : 2048);

	if (n > pages - first)
		n = pages - first;
	*ret_addr = (second ? alias : base) + first * PAGE;
	*ret_len = n * PAGE;
}

static void advise(struct worker *w)
{
	static const int advice[] = {
		MADV_DONTNEED, MADV_WILLNEED, MADV_RANDOM, MADV_SEQUENTIAL,
		MADV_NORMAL, MADV_COLD, MADV_PAGEOUT,
	};
	int a = advice[rnd(w) % (sizeof(advice) / sizeof(*advice))];
	char *addr;
	size_t len;

	random_range(w, &addr, &len);
	if (madvise(addr, len, a))
		die("madvise");
}

static void sync_range(struct worker *w)
{
	char *addr;
	size_t len;

	random_range(w, &addr, &len);
	if (msync(addr, len, rnd(w) % 4 ? MS_ASYNC : MS_SYNC))
		die("msync");
	if (rnd(w) % 16 == 0 && fdatasync(fd))
		die("fdatasync");
}

/* Read-only for a moment; nobody stores there meanwhile, some of us read. */
static void protect(struct worker *w)
{
	uint64_t r = 1 + rnd(w) % (REGIONS - 2);
	char *p = base + r * region_size();
	uint64_t first = r * region_size() / LINE_SIZE;

	pthread_rwlock_wrlock(&region_lock[r]);
	if (mprotect(p, region_size(), PROT_READ))
		die("mprotect");
	for (int i = 0; i < 8; i++)
		load(w, first + rnd(w) % (region_size() / LINE_SIZE));
	if (mprotect(p, region_size(), PROT_READ | PROT_WRITE))
		die("mprotect back");
	pthread_rwlock_unlock(&region_lock[r]);
}

/* Lay a new mapping over a region, at times with anonymous memory between. */
static void replace(struct worker *w)
{
	uint64_t r = 1 + rnd(w) % (REGIONS - 2);
	char *p = base + r * region_size();
	off_t off = (off_t)(r * region_size());

	pthread_rwlock_wrlock(&region_lock[r]);
	if (rnd(w) % 2 && mmap(p, region_size(), PROT_NONE, MAP_PRIVATE |
			       MAP_ANONYMOUS | MAP_FIXED, -1, 0) != p)
		die("mmap anonymous fixed");
	if (mmap(p, region_size(), PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_FIXED, fd, off) != p)
		die("mmap fixed");
	pthread_rwlock_unlock(&region_lock[r]);
}

/* A mapping of one's own: read, store, grow, forget. */
static void window(struct worker *w)
{
	uint64_t pages = size / PAGE;
	uint64_t first = rnd(w) % pages, n = 1 + rnd(w) % 64;
	size_t len;
	char *p;

	if (n > pages - first)
		n = pages - first;
	len = n * PAGE;
	p = mmap(NULL, len, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		 (off_t)(first * PAGE));
	if (p == MAP_FAILED)
		die("mmap window");
	if (rnd(w) % 4 == 0 && first + 2 * n <= pages) {
		p = mremap(p, len, 2 * len, MREMAP_MAYMOVE);
		if (p == MAP_FAILED)
			die("mremap");
		len *= 2;
	}
	for (int i = 0; i < 16; i++) {
		uint64_t in = rnd(w) % (len / LINE_SIZE);
		uint64_t idx = first * (PAGE / LINE_SIZE) + in;
		struct line *l = (struct line *)p + in;
		uint32_t v = atomic_load_explicit(&journal[idx],
						  memory_order_acquire);

		if (idx % nthreads == w->id) {
			line_store(l, idx * LINE_SIZE, ++v);
			atomic_store_explicit(&journal[idx], v,
					      memory_order_release);
		} else {
			struct line c = { 0 };

			c.slot[v & 1] = slot_load(&l->slot[v & 1]);
			atomic_thread_fence(memory_order_acquire);
			if (atomic_load(&journal[idx]) == v &&
			    !slot_is(&c.slot[v & 1], idx * LINE_SIZE, v))
				wrong(idx * LINE_SIZE, v, "window", &c);
		}
	}
	if (munmap(p, len))
		die("munmap window");
}

static void *work(void *arg)
{
	struct worker *w = arg;

	while (!atomic_load(&stop) && atomic_load(&n_ops) < max_ops) {
		unsigned r = rnd(w) % 128;

		atomic_fetch_add(&n_ops, 1);
		if (r >= 12) {
			access_batch(w);
			continue;
		}
		atomic_fetch_add(&n_admin, 1);
		if (r < 4)
			advise(w);
		else if (r < 7)
			sync_range(w);
		else if (r < 8)
			protect(w);
		else if (r < 9)
			replace(w);
		else
			window(w);
	}
	return NULL;
}

/* Demand of the file, through read(2), what the journal says. */
static int verify(int from, const _Atomic uint32_t *j)
{
	static struct line buf[4096];
	uint64_t bad = 0, idx = 0;

	for (uint64_t off = 0; off < size; off += sizeof(buf)) {
		ssize_t n = pread(from, buf, sizeof(buf), (off_t)off);

		if (n < 0)
			die("pread");
		for (size_t i = 0; i < (size_t)n / LINE_SIZE; i++, idx++) {
			uint32_t v = j[idx];

			if (slot_is(&buf[i].slot[v & 1], idx * LINE_SIZE, v))
				continue;
			if (bad++ > 4)
				continue;
			fprintf(stderr,
				"stress: FILE WRONG at %#llx: want version %u\n",
				(unsigned long long)(idx * LINE_SIZE), v);
			slot_print(stderr, "slot 0", &buf[i].slot[0]);
			slot_print(stderr, "slot 1", &buf[i].slot[1]);
		}
	}
	if (idx != size / LINE_SIZE)
		bad++, fprintf(stderr, "stress: file is short\n");
	if (bad)
		fprintf(stderr, "stress: %llu lines wrong\n",
			(unsigned long long)bad);
	return bad ? 1 : 0;
}

static char journal_path[4096];

static _Atomic uint32_t *journal_open(bool create)
{
	uint64_t len;
	int jfd;
	void *p;
	struct stat st;

	snprintf(journal_path, sizeof(journal_path), "%s.journal", path);
	jfd = open(journal_path, create ? O_RDWR | O_CREAT | O_TRUNC : O_RDWR,
		   0644);
	if (jfd < 0)
		die(journal_path);
	if (create) {
		/* Anonymous while running: this is what we trust. Written to
		 * the file with plain write(2) at the end. */
		close(jfd);
		p = mmap(NULL, size / LINE_SIZE * 4, PROT_READ | PROT_WRITE,
			 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
		if (p == MAP_FAILED)
			die("journal");
		return p;
	}
	if (fstat(jfd, &st))
		die("fstat");
	len = (uint64_t)st.st_size;
	size = len / 4 * LINE_SIZE;
	p = malloc(len);
	if (!p || read(jfd, p, len) != (ssize_t)len)
		die("journal read");
	close(jfd);
	return p;
}

static void journal_save(void)
{
	int jfd = open(journal_path, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	const char *p = (const char *)journal;
	size_t left = size / LINE_SIZE * 4;

	if (jfd < 0)
		die(journal_path);
	while (left) {
		ssize_t n = write(jfd, p, left);

		if (n <= 0)
			die("journal write");
		p += n;
		left -= (size_t)n;
	}
	close(jfd);
}

static const char usage[] =
	"usage: stress [-v] [-s MiB] [-t threads] [-d seconds] [-r seed] [-o ops] FILE\n";

static void options(int argc, char **argv, bool *ret_verify)
{
	int c;

	while ((c = getopt(argc, argv, "s:t:d:r:o:vh")) != -1) {
		switch (c) {
		case 'h':
			fputs(usage, stdout);
			exit(0);
		case 's':
			size = strtoull(optarg, NULL, 0) << 20;
			break;
		case 't':
			nthreads = (unsigned)atoi(optarg);
			break;
		case 'd':
			seconds = (unsigned)atoi(optarg);
			break;
		case 'r':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'o':
			max_ops = strtoull(optarg, NULL, 0);
			break;
		case 'v':
			*ret_verify = true;
			break;
		default:
			exit(2);
		}
	}
	if (optind != argc - 1 || !size || !nthreads) {
		fputs(usage, stderr);
		exit(2);
	}
	path = argv[optind];
}

static void set_up(void)
{
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	if (fd < 0 || ftruncate(fd, (off_t)size))
		die(path);
	alias_len = size / 3 & ~(PAGE - 1);
	base = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	alias = mmap(NULL, alias_len, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		     0);
	if (base == MAP_FAILED || alias == MAP_FAILED)
		die("mmap");
	for (int i = 0; i < REGIONS; i++)
		pthread_rwlock_init(&region_lock[i], NULL);
}

static void run(void)
{
	struct worker *w = calloc(nthreads, sizeof(*w));
	struct timespec now, until;

	if (!w)
		die("calloc");
	for (unsigned i = 0; i < nthreads; i++) {
		w[i].id = i;
		w[i].rnd = line_mix(seed * 1000 + i) | 1;
		if (pthread_create(&w[i].thread, NULL, work, &w[i]))
			die("pthread_create");
	}
	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += seconds;
	do {
		nanosleep(&(struct timespec){ .tv_nsec = 20000000 }, NULL);
		clock_gettime(CLOCK_MONOTONIC, &now);
	} while (atomic_load(&n_ops) < max_ops &&
		 (now.tv_sec < until.tv_sec || (now.tv_sec == until.tv_sec &&
						now.tv_nsec < until.tv_nsec)));
	atomic_store(&stop, true);
	for (unsigned i = 0; i < nthreads; i++)
		pthread_join(w[i].thread, NULL);
	free(w);
}

int main(int argc, char **argv)
{
	bool only_verify = false;
	int bad;

	setvbuf(stdout, NULL, _IOLBF, 0);
	options(argc, argv, &only_verify);
	journal = journal_open(!only_verify);
	if (only_verify) {
		fd = open(path, O_RDONLY);
		if (fd < 0)
			die(path);
		bad = verify(fd, journal);
		printf("stress: verified %llu lines: %s\n",
		       (unsigned long long)(size / LINE_SIZE),
		       bad ? "WRONG" : "ok");
		return bad;
	}
	set_up();
	run();
	bad = verify(fd, journal); /* before msync: the page cache's promise */
	if (msync(base, size, MS_SYNC))
		die("final msync");
	bad |= verify(fd, journal);
	journal_save();
	printf("stress: %llu stores, %llu loads, %llu operations, %llu retries: %s\n",
	       (unsigned long long)n_stores, (unsigned long long)n_loads,
	       (unsigned long long)n_admin, (unsigned long long)n_retries,
	       bad ? "WRONG" : "ok");
	return bad; /* mappings are left to exit */
}
