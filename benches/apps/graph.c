/* SPDX-License-Identifier: MIT */
/*
 * graph.c - breadth-first search and PageRank on a graph that is mapped
 * read-only.
 *
 *	graph make FILE BYTES
 *	graph bfs|pagerank FILE plain|random|heap
 *	graph pagerank FILE forked
 *
 * The file: number of vertices, number of edges, for each vertex where its
 * neighbours begin, the neighbours (32 bits each). R-MAT as in Graph500
 * (0.57, 0.19, 0.19, 0.05), 16 edges a vertex, directed for PageRank, and the
 * search goes along them: of SEARCHED vertices or so, the same each time, so
 * that it ends where a page takes milliseconds. `random` says MADV_RANDOM; `heap` reads the
 * file into memory of malloc first, which is not part of the time. `forked`
 * gives the vertices to workers that are forked when all is mapped.
 */
#include <fcntl.h>
#include <omp.h>
#include <pthread.h>
#include <signal.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { DEGREE = 16, ROUNDS = 3, SOURCES = 3, SEARCHED = 1 << 15, WORKERS = 4 };

struct graph {
	uint64_t n, m;
	const uint64_t *row; /* n + 1 */
	const uint32_t *to;
};

static uint64_t hash(uint64_t x)
{
	x += 0x9e3779b97f4a7c15u;
	x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9u;
	x = (x ^ (x >> 27)) * 0x94d049bb133111ebu;
	return x ^ (x >> 31);
}

/* Edge i of 2^bits vertices; the same each time. */
static void edge(uint64_t i, unsigned bits, uint32_t *from, uint32_t *to)
{
	uint64_t a = 0, b = 0;

	for (unsigned k = 0; k < bits; k++) {
		const unsigned r = (unsigned)(hash(i * 64 + k) % 100);

		a = a << 1 | (r >= 76);
		b = b << 1 | ((r >= 57 && r < 76) || r >= 95);
	}
	/* so that those with many neighbours do not lie together */
	*from = (uint32_t)(hash(a ^ 1) & ((1u << bits) - 1));
	*to = (uint32_t)(hash(b ^ 1) & ((1u << bits) - 1));
}

static int make(const char *path, uint64_t bytes)
{
	unsigned bits = 10;

	while (((2ull << bits) * (8 + 4 * DEGREE)) <= bytes)
		bits++;
	const uint64_t n = 1ull << bits, m = n * DEGREE;
	const size_t size = (size_t)(16 + (n + 1) * 8 + m * 4);
	const int fd = open(path, O_RDWR | O_CREAT | O_TRUNC, 0644);
	uint64_t *at = malloc((n + 1) * 8), *row;
	uint32_t *to, u, v;

	if (fd < 0 || !at || ftruncate(fd, (off_t)size))
		return 1;
	row = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (row == MAP_FAILED)
		return 1;
	row[0] = n;
	row[1] = m;
	row += 2;
	for (uint64_t i = 0; i < m; i++) {
		edge(i, bits, &u, &v);
		row[u + 1]++;
	}
	for (uint64_t i = 0; i < n; i++)
		row[i + 1] += row[i];
	memcpy(at, row, (n + 1) * 8);
	to = (uint32_t *)(row + n + 1);
	for (uint64_t i = 0; i < m; i++) {
		edge(i, bits, &u, &v);
		to[at[u]++] = v;
	}
	free(at);
	return munmap(row - 2, size) || fsync(fd) || close(fd) ? 1 : 0;
}

static uint64_t most_neighbours(const struct graph *g, uint64_t from)
{
	uint64_t best = from;

	for (uint64_t i = from; i < from + 1000 && i < g->n; i++)
		if (g->row[i + 1] - g->row[i] > g->row[best + 1] - g->row[best])
			best = i;
	return best;
}

/* Levels of all vertices; returns their sum. */
static uint64_t search(const struct graph *g, uint64_t root, uint32_t *level,
		       uint32_t *now, uint32_t *next)
{
	const uint64_t one_in = g->n / SEARCHED + 1;
	uint64_t n = 1, more, sum = 0;

	memset(level, 0xff, g->n * 4);
	level[root] = 0;
	now[0] = (uint32_t)root;
	for (uint32_t depth = 1; n; depth++) {
		more = 0;
#pragma omp parallel for schedule(dynamic, 64)
		for (uint64_t i = 0; i < n; i++) {
			const uint64_t u = now[i];

			if (depth > 1 && hash(u) % one_in)
				continue;
			for (uint64_t e = g->row[u]; e < g->row[u + 1]; e++) {
				uint32_t none = UINT32_MAX;
				uint32_t *l = &level[g->to[e]];

				if (__atomic_load_n(l, __ATOMIC_RELAXED) !=
					    none ||
				    !__atomic_compare_exchange_n(
					    l, &none, depth, 0,
					    __ATOMIC_RELAXED, __ATOMIC_RELAXED))
					continue;
				next[__atomic_fetch_add(
					&more, 1, __ATOMIC_RELAXED)] = g->to[e];
			}
		}
		sum += more * depth;
		uint32_t *t = now;

		now = next;
		next = t;
		n = more;
	}
	return sum;
}

static int bfs(const struct graph *g, uint64_t *ret)
{
	uint32_t *level = malloc(g->n * 4), *a = malloc(g->n * 4),
		 *b = malloc(g->n * 4);

	if (!level || !a || !b)
		return 1;
	for (uint64_t k = 0; k < SOURCES; k++) {
		const uint64_t root = most_neighbours(g, k * (g->n / SOURCES));

		*ret = *ret * 31 + search(g, root, level, a, b);
	}
	free(level);
	free(a);
	free(b);
	return 0;
}

/* In parts of 2^-32, so that the order of additions does not matter. */
struct ranks {
	pthread_barrier_t all; /* of the workers */
	uint64_t *rank, *next; /* n each, of all processes */
};

/* What the neighbours of these vertices get. */
static void spread(const struct graph *g, const struct ranks *r, uint64_t from,
		   uint64_t end)
{
#pragma omp parallel for schedule(dynamic, 1024)
	for (uint64_t u = from; u < end; u++) {
		const uint64_t d = g->row[u + 1] - g->row[u];

		for (uint64_t e = g->row[u]; e < g->row[u + 1]; e++)
			__atomic_fetch_add(&r->next[g->to[e]], r->rank[u] / d,
					   __ATOMIC_RELAXED);
	}
}

/* The round is over: what they got is what they have. */
static void settle(const struct ranks *r, uint64_t from, uint64_t end)
{
	for (uint64_t i = from; i < end; i++) {
		r->rank[i] = (3ull << 32) / 20 + r->next[i] / 20 * 17;
		r->next[i] = 0;
	}
}

/* One thread, and a share of the vertices. */
static void worker(const struct graph *g, struct ranks *r, uint64_t which)
{
	const uint64_t from = g->n / WORKERS * which;
	const uint64_t end = g->n / WORKERS * (which + 1);

	prctl(PR_SET_PDEATHSIG, SIGKILL);
	omp_set_num_threads(1);
	for (int k = 0; k < ROUNDS; k++) {
		spread(g, r, from, end);
		pthread_barrier_wait(&r->all);
		settle(r, from, end);
		pthread_barrier_wait(&r->all);
	}
	_exit(0);
}

/* Where one dies all do: the others would wait for it. */
static int by_workers(const struct graph *g, struct ranks *r)
{
	pthread_barrierattr_t shared;
	pid_t pid[WORKERS];
	int status, err = 0;

	pthread_barrierattr_init(&shared);
	pthread_barrierattr_setpshared(&shared, PTHREAD_PROCESS_SHARED);
	pthread_barrier_init(&r->all, &shared, WORKERS);
	for (uint64_t i = 0; i < WORKERS; i++) {
		pid[i] = fork();
		if (!pid[i])
			worker(g, r, i);
	}
	while (wait(&status) > 0) {
		err |= status;
		for (uint64_t i = 0; err && i < WORKERS; i++)
			kill(pid[i], SIGKILL);
	}
	return err ? 1 : 0;
}

/* Zeros, and of the workers too where there are some. */
static struct ranks *ranks(uint64_t n, int forked)
{
	const size_t size = sizeof(struct ranks) + n * 16;
	void *p;

	if (!forked)
		return calloc(1, size);
	p = mmap(NULL, size, PROT_READ | PROT_WRITE,
		 MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	return p == MAP_FAILED ? NULL : p;
}

static int pagerank(const struct graph *g, int forked, uint64_t *ret)
{
	struct ranks *r = ranks(g->n, forked);

	if (!r)
		return 1;
	r->rank = (uint64_t *)(r + 1);
	r->next = r->rank + g->n;
	for (uint64_t i = 0; i < g->n; i++)
		r->rank[i] = 1ull << 32;
	if (forked && by_workers(g, r))
		return 1;
	for (int k = 0; !forked && k < ROUNDS; k++) {
		spread(g, r, 0, g->n);
		settle(r, 0, g->n);
	}
	for (uint64_t i = 0; i < g->n; i++)
		*ret = *ret * 31 + r->rank[i];
	return 0;
}

/* As programs do that read their graph into memory of malloc. */
static void *read_all(int fd, size_t size)
{
	char *p = malloc(size);
	size_t at = 0;
	ssize_t n = 1;

	for (; p && at < size && n > 0; at += (size_t)n) {
		n = read(fd, p + at, size - at < 1 << 20 ? size - at : 1 << 20);
		posix_fadvise(fd, 0, (off_t)at, POSIX_FADV_DONTNEED);
	}
	return at == size ? p : NULL;
}

static int map(const char *path, const char *how, struct graph *g)
{
	const int fd = open(path, O_RDONLY);
	struct stat st;
	uint64_t *p;

	if (fd < 0 || fstat(fd, &st))
		return 1;
	p = !strcmp(how, "heap") ? read_all(fd, (size_t)st.st_size) :
		mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_SHARED, fd, 0);
	if (!p || p == MAP_FAILED)
		return 1;
	if (!strcmp(how, "random") &&
	    madvise(p, (size_t)st.st_size, MADV_RANDOM))
		return 1;
	g->n = p[0];
	g->m = p[1];
	g->row = p + 2;
	g->to = (const uint32_t *)(p + 2 + g->n + 1);
	return 0;
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static int work(int searches, const char *path, const char *how)
{
	double t0 = seconds();
	struct graph g;
	uint64_t sum = 0;

	if (map(path, how, &g))
		return 1;
	if (!strcmp(how, "heap"))
		t0 = seconds(); /* what is read is a file, of everybody's */
	if (searches ? bfs(&g, &sum) :
		       pagerank(&g, !strcmp(how, "forked"), &sum))
		return 1;
	printf("{\"sum\": \"%016llx\", \"seconds\": %.3f}\n",
	       (unsigned long long)sum, seconds() - t0);
	return 0;
}

int main(int argc, char **argv)
{
	int err = 2;

	if (argc == 4 && !strcmp(argv[1], "make"))
		err = make(argv[2], strtoull(argv[3], NULL, 10));
	else if (argc == 4 &&
		 (!strcmp(argv[1], "bfs") || !strcmp(argv[1], "pagerank")))
		err = work(argv[1][0] == 'b', argv[2],
			   argv[3]);
	if (err == 1)
		perror(argv[2]);
	else if (err)
		fputs("usage: graph make FILE BYTES | graph bfs|pagerank FILE "
		      "plain|random|heap | graph pagerank FILE forked\n",
		      stderr);
	return err;
}
