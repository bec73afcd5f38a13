/* SPDX-License-Identifier: MIT */
/*
 * evictsim.c - hit ratios of eviction policies on recorded traces.
 *
 * A trace is an array of 8-byte little-endian records: file and page in the low
 * 48 bits, kind (0 read, 1 write) above, as FASTMAP_TRACE and mapload --trace
 * write it. A trace of faults misses the touches of resident pages; mapload
 * records all. One JSON object per cache size on stdout, a table on stderr.
 */
#include "evictsim.h"
#include "help.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define PAGE_BITS ((1ull << 48) - 1)

static void *alloc(size_t n, size_t size)
{
	void *p = calloc(n ? n : 1, size);

	if (!p) {
		fprintf(stderr, "evictsim: no memory\n");
		exit(1);
	}
	return p;
}

static uint64_t *read_trace(const char *path, uint64_t *ret_n)
{
	FILE *f = fopen(path, "re");
	uint64_t *t, n;
	long size;

	if (!f || fseek(f, 0, SEEK_END) || (size = ftell(f)) < 0) {
		perror(path);
		exit(1);
	}
	rewind(f);
	n = (uint64_t)size / 8;
	t = alloc(n, 8);
	if (fread(t, 8, n, f) != n || !n) {
		fprintf(stderr, "evictsim: %s: empty or unreadable\n", path);
		exit(1);
	}
	fclose(f);
	*ret_n = n;
	return t;
}

/* Open addressing from page numbers to dense ids. */
static uint32_t *densify(const uint64_t *t, uint64_t n, uint32_t *ret_pages)
{
	uint64_t slots = 1, *key, h;
	uint32_t *id, *out = alloc(n, sizeof(*out)), next = 0;

	while (slots < 2 * n)
		slots *= 2;
	key = alloc(slots, sizeof(*key));
	id = alloc(slots, sizeof(*id));
	for (uint64_t i = 0; i < n; i++) {
		uint64_t page = (t[i] & PAGE_BITS) + 1;

		h = (page * 0x9e3779b97f4a7c15u) >> 20 & (slots - 1);
		while (key[h] && key[h] != page)
			h = (h + 1) & (slots - 1);
		if (!key[h]) {
			key[h] = page;
			id[h] = next++;
		}
		out[i] = id[h];
	}
	free(key);
	free(id);
	*ret_pages = next;
	return out;
}

static uint64_t *next_uses(const uint32_t *t, uint64_t n, uint32_t pages)
{
	uint64_t *out = alloc(n, sizeof(*out)),
		 *last = alloc(pages, sizeof(*last));

	for (uint32_t p = 0; p < pages; p++)
		last[p] = UINT64_MAX;
	for (uint64_t i = n; i-- > 0;) {
		out[i] = last[t[i]];
		last[t[i]] = i;
	}
	free(last);
	return out;
}

static void sim_reset(struct sim *s, uint64_t cache)
{
	s->cache = cache;
	s->now = s->soft = s->nheap = 0;
	memset(s->where, L_OUT, s->npages);
	memset(s->freq, 0, s->npages);
	for (int i = 0; i < LISTS; i++)
		s->list[i] = (struct list){ NONE, NONE, 0 };
}

static double run(struct sim *s, const struct evict_policy *p)
{
	uint64_t hits = 0;

	s->policy = p;
	for (; s->now < s->ntrace; s->now++)
		hits += p->touch(s, s->trace[s->now]);
	return (double)hits / (double)s->ntrace;
}

static void simulate(struct sim *s, const struct evict_policies *all,
		     uint64_t cache)
{
	double ratio;

	printf("{\"cache_pages\":%lu,\"distinct_pages\":%u,\"touches\":%lu",
	       cache, s->npages, s->ntrace);
	fprintf(stderr, "%12lu", cache);
	for (size_t i = 0; i < all->n; i++) {
		sim_reset(s, cache);
		ratio = run(s, &all->p[i]);
		printf(",\"%s%s\":%.6f", all->p[i].name, all->p[i].more, ratio);
		if (s->soft)
			printf(",\"%s%s_soft\":%.6f", all->p[i].name,
			       all->p[i].more,
			       (double)s->soft / (double)s->ntrace);
		fprintf(stderr, " %15.4f", ratio);
	}
	printf("}\n");
	fprintf(stderr, "\n");
}

/* "12%" of the distinct pages of the trace, or a number of pages. */
static uint64_t cache_size(const char *arg, const struct sim *s)
{
	char *end;
	double v = strtod(arg, &end);

	if (*end == '%')
		v = v / 100 * s->npages;
	if (end == arg || v < 1) {
		fprintf(stderr, "evictsim: bad cache size: %s\n", arg);
		exit(2);
	}
	return (uint64_t)v;
}

int main(int argc, char **argv)
{
	static const char *const sizes[] = { "3%", "6%", "12.5%", "25%",
					     "50%" };
	struct evict_policies all;
	struct sim s = { 0 };
	uint64_t *raw;

	help(argc, argv, 2,
	     "usage: evictsim TRACE [PAGES|PERCENT%]...\n"
	     "Hit ratios of a trace (FASTMAP_TRACE) in caches of these sizes.\n");
	raw = read_trace(argv[1], &s.ntrace);
	s.trace = densify(raw, s.ntrace, &s.npages);
	free(raw);
	s.next_use = next_uses(s.trace, s.ntrace, s.npages);
	s.prev = alloc(s.npages, sizeof(*s.prev));
	s.next = alloc(s.npages, sizeof(*s.next));
	s.where = alloc(s.npages, 1);
	s.freq = alloc(s.npages, 1);
	s.when = alloc(s.npages, sizeof(*s.when));
	s.heap = alloc(s.ntrace, sizeof(*s.heap));
	fprintf(stderr, "%12s", "cache pages");
	evict_policies(&all);
	for (size_t i = 0; i < all.n; i++)
		fprintf(stderr, " %*s%s", 15 - (int)strlen(all.p[i].more),
			all.p[i].name, all.p[i].more);
	fprintf(stderr, "\n");
	if (argc == 2)
		for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
			simulate(&s, &all, cache_size(sizes[i], &s));
	for (int i = 2; i < argc; i++)
		simulate(&s, &all, cache_size(argv[i], &s));
	return 0;
}
