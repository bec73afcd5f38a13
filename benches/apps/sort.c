/* SPDX-License-Identifier: MIT */
/*
 * sort.c - sorts the 64-bit words of a file in a shared mapping: quicksort by
 * OpenMP tasks down to what a cache holds.
 *
 *	sort make FILE BYTES
 *	sort sort FILE
 *	sort heap BYTES
 *
 * heap: the same words, made in memory of malloc.
 *
 * The sum is one of the words and one of their order.
 */
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { SMALL = 1 << 16, BLOCK = 1 << 17 };

static uint64_t next(uint64_t *x)
{
	*x ^= *x << 13;
	*x ^= *x >> 7;
	*x ^= *x << 17;
	return *x;
}

static int make(const char *path, uint64_t bytes)
{
	static uint64_t buf[BLOCK];
	FILE *f = fopen(path, "w");
	uint64_t x = 88172645463325252u;

	if (!f)
		return 1;
	for (uint64_t n = 0; n < bytes / sizeof(buf); n++) {
		for (int i = 0; i < BLOCK; i++)
			buf[i] = next(&x);
		if (fwrite(buf, sizeof(buf), 1, f) != 1)
			return 1;
	}
	return fflush(f) || fsync(fileno(f)) || fclose(f) ? 1 : 0;
}

static int compare(const void *a, const void *b)
{
	const uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static uint64_t middle(uint64_t a, uint64_t b, uint64_t c)
{
	const uint64_t least = a < b ? a : b, most = a < b ? b : a;

	return c < least ? least : c > most ? most : c;
}

/* The first of the upper part (Hoare). */
static int64_t split(uint64_t *v, int64_t n)
{
	const uint64_t pivot = middle(v[0], v[n / 2], v[n - 1]);
	int64_t i = -1, j = n;

	for (;;) {
		do
			i++;
		while (v[i] < pivot);
		do
			j--;
		while (v[j] > pivot);
		if (i >= j)
			return j + 1;
		const uint64_t t = v[i];

		v[i] = v[j];
		v[j] = t;
	}
}

static void sort(uint64_t *v, int64_t n)
{
	while (n > SMALL) {
		const int64_t k = split(v, n);

#pragma omp task firstprivate(v, k)
		sort(v, k);
		v += k;
		n -= k;
	}
	qsort(v, (size_t)n, sizeof(*v), compare);
}

static double seconds(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

/* The words, sorted; order tells whether they are. */
static int sort_words(uint64_t *v, int64_t n, uint64_t *sum, uint64_t *order)
{
#pragma omp parallel
#pragma omp single
	sort(v, n);
	for (int64_t i = 0; i < n; i++) {
		if (i && v[i] < v[i - 1])
			return 1;
		*sum += v[i];
		*order = *order * 31 + v[i];
	}
	return 0;
}

static int sort_said(double t0, uint64_t sum, uint64_t order)
{
	printf("{\"sum\": \"%016llx%016llx\", \"seconds\": %.3f}\n",
	       (unsigned long long)sum, (unsigned long long)order,
	       seconds() - t0);
	return 0;
}

static int sort_file(const char *path)
{
	const int fd = open(path, O_RDWR);
	struct stat st;
	uint64_t sum = 0, order = 0, *v;

	if (fd < 0 || fstat(fd, &st))
		return 1;
	const double t0 = seconds();

	v = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE,
		 MAP_SHARED, fd, 0);
	if (v == MAP_FAILED || sort_words(v, st.st_size / 8, &sum, &order) ||
	    munmap(v, (size_t)st.st_size) || fsync(fd))
		return 1;
	return sort_said(t0, sum, order);
}

/* The same words as those of a file, in memory of malloc. */
static int sort_heap(uint64_t bytes)
{
	const double t0 = seconds();
	uint64_t sum = 0, order = 0, x = 88172645463325252u, *v = malloc(bytes);

	for (uint64_t i = 0; v && i < bytes / 8; i++)
		v[i] = next(&x);
	if (!v || sort_words(v, (int64_t)(bytes / 8), &sum, &order))
		return 1;
	return sort_said(t0, sum, order);
}

int main(int argc, char **argv)
{
	int err = 2;

	if (argc == 4 && !strcmp(argv[1], "make"))
		err = make(argv[2], strtoull(argv[3], NULL, 10));
	else if (argc == 3 && !strcmp(argv[1], "sort"))
		err = sort_file(argv[2]);
	else if (argc == 3 && !strcmp(argv[1], "heap"))
		err = sort_heap(strtoull(argv[2], NULL, 10));
	if (err == 1)
		perror(argv[2]);
	else if (err)
		fputs("usage: sort make FILE BYTES | sort sort FILE | sort heap BYTES\n", stderr);
	return err;
}
