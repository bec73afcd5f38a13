/* SPDX-License-Identifier: MIT */
/*
 * ycsb.c - the workloads A to F of the Yahoo! Cloud Serving Benchmark (Cooper et
 * al., 2010): records of 1 KB, keys by a scrambled zipfian of 0.99.
 *
 *	ycsb load DIR RECORDS
 *	ycsb run DIR a|...|f THREADS SECONDS [remedy]
 *	ycsb check DIR
 *
 * A value is a function of its record and of how often that was updated. Every
 * read is checked against the updates that began and ended around it; how often
 * each was updated is kept in DIR.count for the check of what is left.
 */
#include <math.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#include "ycsb.h"

enum { LOCKS = 1024, LONGEST = 100, MORE = 1 << 18 };

struct mix {
	int read, update, insert, scan; /* of 100; the rest is read and update */
	bool latest;
};

static const struct mix mixes[] = {
	{50, 50, 0, 0, false}, {95, 5, 0, 0, false}, {100, 0, 0, 0, false},
	{95, 0, 5, 0, true},   {0, 0, 5, 95, false}, {50, 0, 0, 0, false},
};

static uint64_t loaded;
static atomic_ullong inserted, wrong, operations;
/* Updates of each record that have begun, and ended; 0: not there. */
static atomic_uint *begun, *ended;
static pthread_mutex_t locks[LOCKS];
static double zetan, eta, alpha;
static const double theta = 0.99;

static double now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return (double)t.tv_sec + (double)t.tv_nsec / 1e9;
}

static uint64_t mix64(uint64_t x)
{
	x = (x ^ x >> 30) * 0xbf58476d1ce4e5b9u;
	x = (x ^ x >> 27) * 0x94d049bb133111ebu;
	return x ^ x >> 31;
}

static uint64_t next(uint64_t *x)
{
	return mix64(*x += 0x9e3779b97f4a7c15u);
}

static void key_of(uint64_t record, char key[KEY + 1])
{
	snprintf(key, KEY + 1, "user%016llx",
		 (unsigned long long)mix64(record + 1));
}

static void value_of(uint64_t record, uint64_t count, uint64_t v[VALUE / 8])
{
	const uint64_t x = mix64(record * 4096 + count);

	v[0] = record;
	v[1] = count;
	for (unsigned i = 2; i < VALUE / 8; i++)
		v[i] = x + i * 0x9e3779b97f4a7c15u;
}

static bool is_value(const void *value, uint64_t *record, uint64_t *count)
{
	uint64_t want[VALUE / 8];

	memcpy(record, value, 8);
	memcpy(count, (const char *)value + 8, 8);
	value_of(*record, *count, want);
	return !memcmp(value, want, VALUE);
}

/* ---- which record --------------------------------------------------------- */

static void zipf_init(uint64_t n)
{
	const double zeta2 = 1 + pow(0.5, theta);

	for (uint64_t i = 1; i <= n; i++)
		zetan += pow(1 / (double)i, theta);
	alpha = 1 / (1 - theta);
	eta = (1 - pow(2 / (double)n, 1 - theta)) / (1 - zeta2 / zetan);
}

/* Gray et al., as YCSB has it: 0 is drawn most often. */
static uint64_t zipf(uint64_t *x)
{
	const double u = (double)(next(x) >> 11) / 9007199254740992.0;
	const double uz = u * zetan;
	uint64_t n;

	if (uz < 1)
		return 0;
	if (uz < 1 + pow(0.5, theta))
		return 1;
	n = (uint64_t)((double)loaded * pow(eta * u - eta + 1, alpha));
	return n < loaded ? n : loaded - 1;
}

static uint64_t record_for(const struct mix *m, uint64_t *x)
{
	uint64_t n = zipf(x);

	if (!m->latest)
		return mix64(n) % loaded;
	n = inserted - 1 - n;
	while (!ended[n]) /* it is being inserted */
		n--;
	return n;
}

/* ---- operations ----------------------------------------------------------- */

static void complain(const char *what, uint64_t record, uint64_t got)
{
	if (wrong++ < 10)
		fprintf(stderr, "%s: record %llu, %llu\n", what,
			(unsigned long long)record, (unsigned long long)got);
}

static void do_read(struct reader *r, uint64_t record)
{
	const unsigned least = ended[record];
	uint64_t value[VALUE / 8], is = 0, count = 0;
	char key[KEY + 1];

	key_of(record, key);
	if (!store_get(r, key, value))
		complain("missing", record, least);
	else if (!is_value(value, &is, &count) || is != record)
		complain("wrong bytes", record, is);
	else if (count < least || count > begun[record])
		complain("stale", record, count);
}

static void do_write(struct reader *r, uint64_t record, bool read)
{
	pthread_mutex_t *lock = &locks[record % LOCKS];
	uint64_t value[VALUE / 8];
	char key[KEY + 1];

	key_of(record, key);
	pthread_mutex_lock(lock);
	if (read)
		do_read(r, record);
	value_of(record, ++begun[record], value);
	store_put(key, value);
	ended[record]++;
	pthread_mutex_unlock(lock);
}

struct scan {
	unsigned left;
	char last[KEY];
};

static bool seen(void *arg, const void *key, const void *value, size_t len)
{
	struct scan *s = arg;
	uint64_t record = 0, count = 0;
	char want[KEY + 1];

	if (len != VALUE || !is_value(value, &record, &count)) {
		complain("wrong bytes in a scan", record, count);
		return false;
	}
	key_of(record, want);
	if (memcmp(key, want, KEY) || memcmp(s->last, key, KEY) > 0)
		complain("wrong record in a scan", record, count);
	memcpy(s->last, key, KEY);
	return --s->left;
}

static void do_scan(struct reader *r, uint64_t record, unsigned n)
{
	struct scan s = {.left = n};
	char key[KEY + 1];

	key_of(record, key);
	store_scan(r, key, seen, &s);
}

static void one(const struct mix *m, struct reader *r, uint64_t *x)
{
	const int what = (int)(next(x) % 100);

	if (what < m->read)
		do_read(r, record_for(m, x));
	else if (what < m->read + m->update)
		do_write(r, record_for(m, x), false);
	else if (what < m->read + m->update + m->insert)
		do_write(r, inserted < loaded + MORE ? inserted++ : 0, false);
	else if (m->scan)
		do_scan(r, record_for(m, x), 1 + (unsigned)(next(x) % LONGEST));
	else
		do_write(r, record_for(m, x), true);
}

/* ---- the commands --------------------------------------------------------- */

struct worker {
	pthread_t thread;
	const struct mix *mix;
	uint64_t seed;
	double end;
};

static void *work(void *arg)
{
	struct worker *w = arg;
	struct reader *r = store_reader();
	uint64_t n = 0;

	for (; now() < w->end; n++)
		one(w->mix, r, &w->seed);
	store_reader_end(r);
	operations += n;
	return NULL;
}

static double work_all(const struct mix *mix, unsigned threads, double seconds)
{
	struct worker w[threads];
	const double began = now();

	for (unsigned i = 0; i < threads; i++) {
		w[i] = (struct worker){.mix = mix, .seed = mix64(i + 1),
				       .end = began + seconds};
		if (pthread_create(&w[i].thread, NULL, work, &w[i]))
			exit(2);
	}
	for (unsigned i = 0; i < threads; i++)
		pthread_join(w[i].thread, NULL);
	return now() - began;
}

static FILE *counts(const char *dir, const char *mode)
{
	char path[4096];
	FILE *f;

	snprintf(path, sizeof(path), "%s.count", dir);
	f = fopen(path, mode);
	if (!f)
		exit(2);
	return f;
}

static void remember(const char *dir)
{
	FILE *f = counts(dir, "w");

	for (uint64_t i = 0; i < inserted; i++)
		fprintf(f, "%u\n", ended[i]);
	if (fclose(f))
		exit(2);
}

static void recall(const char *dir)
{
	FILE *f = counts(dir, "r");
	unsigned count;

	while (fscanf(f, "%u", &count) == 1) {
		if (loaded % MORE == 0) {
			begun = realloc(begun, (loaded + 2 * MORE) * sizeof(*begun));
			ended = realloc(ended, (loaded + 2 * MORE) * sizeof(*ended));
			memset(begun + loaded, 0, 2 * MORE * sizeof(*begun));
			memset(ended + loaded, 0, 2 * MORE * sizeof(*ended));
		}
		begun[loaded] = ended[loaded] = count;
		loaded++;
	}
	fclose(f);
	inserted = loaded;
}

struct item {
	char key[KEY + 1];
	uint64_t record;
};

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, KEY);
}

static int load(const char *dir, uint64_t n)
{
	struct item *all = calloc(n, sizeof(*all));
	FILE *f = counts(dir, "w");
	uint64_t value[VALUE / 8];

	for (uint64_t i = 0; i < n; i++) {
		all[i].record = i;
		key_of(i, all[i].key);
		fputs("1\n", f);
	}
	qsort(all, n, sizeof(*all), compare);
	store_open(dir, STORE_NEW, n * VALUE, false);
	for (uint64_t i = 0; i < n; i++) {
		value_of(all[i].record, 1, value);
		store_put(all[i].key, value);
	}
	store_close();
	return fclose(f);
}

static int run(const char *dir, int letter, unsigned threads, double seconds,
	       bool remedy)
{
	double took;

	recall(dir);
	zipf_init(loaded);
	for (int i = 0; i < LOCKS; i++)
		pthread_mutex_init(&locks[i], NULL);
	store_open(dir, STORE_USE, loaded * VALUE, remedy);
	took = work_all(&mixes[letter - 'a'], threads, seconds);
	store_close();
	remember(dir);
	printf("{\"sum\": \"%llu wrong\", \"ops\": %.0f, \"seconds\": %.2f}\n",
	       (unsigned long long)wrong, (double)operations / took, took);
	return wrong != 0;
}

static bool checked(void *arg, const void *key, const void *value, size_t len)
{
	uint64_t *n = arg, record = 0, count = 0;
	char want[KEY + 1];

	++*n;
	if (len != VALUE || !is_value(value, &record, &count) || record >= loaded) {
		complain("wrong bytes left", record, count);
		return true;
	}
	key_of(record, want);
	if (memcmp(key, want, KEY) || count != ended[record])
		complain("another count left", record, count);
	return true;
}

static int check(const char *dir)
{
	uint64_t n = 0;

	recall(dir);
	store_open(dir, STORE_READ, loaded * VALUE, false);
	store_scan(store_reader(), "", checked, &n);
	if (n != loaded)
		complain("records left", n, loaded);
	printf("%llu wrong\n", (unsigned long long)wrong);
	return wrong != 0;
}

int main(int argc, char **argv)
{
	if (argc == 4 && !strcmp(argv[1], "load"))
		return load(argv[2], strtoull(argv[3], NULL, 10));
	if (argc == 3 && !strcmp(argv[1], "check"))
		return check(argv[2]);
	if (argc >= 6 && !strcmp(argv[1], "run") && argv[3][0] >= 'a' &&
	    argv[3][0] <= 'f')
		return run(argv[2], argv[3][0], (unsigned)atoi(argv[4]),
			   atof(argv[5]), argc > 6);
	return 2;
}
