/* SPDX-License-Identifier: MIT */
#include <inttypes.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "stats_doc.h"
#include "suggestion.h"

#define FEW 100          /* faults: of less nothing can be said */
#define MOST_FILES 32    /* sections */
#define PAGE 4096.0
#define MUCH_WASTE 0.25  /* of what was read ahead */
#define GAIN 90.0        /* percent of the loads: worth twice the memory */
#define SAME 103.0       /* percent of the loads: not worth the memory */
#define OFTEN 2          /* times each page was written */

static double mib(double bytes)
{
	return bytes / (1 << 20);
}

/* ---- what a file is like ------------------------------------------------ */

struct use {
	double faults, ahead; /* and those of them that readahead answered */
	double read, loads, evicted;
	double waste;         /* part of what was read ahead */
	double written;       /* times that the whole file was */
	double request;       /* bytes, the average */
	bool random, gains, stored;
};

static struct use use_of(const json_t *f)
{
	const double ahead = doc_real(f, "ahead_pages");
	const double size = doc_real(f, "size");
	struct use u = {
		.ahead = doc_real(f, "hits_ahead"),
		.read = doc_real(f, "load_bytes"),
		.loads = doc_real(f, "loads"),
		.evicted = doc_real(f, "evictions"),
	};

	u.faults = (double)doc_faults(f);
	u.waste = ahead > 0 ? doc_real(f, "ahead_waste") / ahead : 0;
	u.written = size > 0 ? doc_real(f, "wb_bytes") / size : 0;
	u.request = u.loads > 0 ? u.read / u.loads : 0;
	u.stored = doc_real(f, "writebacks") > 0;
	u.random = u.ahead < u.faults / 4;
	u.gains = u.faults >= FEW && u.evicted > 0;
	return u;
}

/* A section takes a pattern, and ends at a bracket or a comment. */
static bool can_be_named(const char *path)
{
	return *path == '/' && !path[strcspn(path, "*?[]{}\\#;\n\r")] &&
	       strlen(path) < 255;
}

/* Comments are lines: a path may have any byte in it. */
static void put_path(FILE *out, const char *path)
{
	for (; *path; path++)
		fputc((unsigned char)*path < ' ' ? '?' : *path, out);
}

/* ---- settings of a path ------------------------------------------------- */

static void put_gain(FILE *out, const struct use *u)
{
	if (u->gains && u->random)
		fprintf(out, "# Gains: read here and there, and more than the "
			"cache holds\n# (%.0f faults, %.0f pages evicted).\n",
			u->faults, u->evicted);
	else if (u->gains)
		fprintf(out, "# Gains a little: read in order, readahead had "
			"%.0f of %.0f faults;\n# it does not drive out what "
			"else is in use.\n", u->ahead, u->faults);
	else
		fprintf(out, "# Gains at the first read only: all of it stays "
			"in the cache (%.0f faults).\n", u->faults);
	fprintf(out, "engage = yes\n");
}

static void put_block(FILE *out, const struct use *u)
{
	if (!u->gains || !u->random || u->request >= 3 * PAGE)
		return;
	fprintf(out, "# A request brought %.1f KiB: one page at a time, "
		"nothing beside it.\nblock = 4K\n", u->request / 1024);
}

static void put_ahead(FILE *out, const struct use *u)
{
	if (u->waste > MUCH_WASTE && u->random)
		fprintf(out, "# Of what was read ahead %.0f %% was dropped "
			"unused.\nmap-ahead = 0\n", 100 * u->waste);
	else if (u->waste > MUCH_WASTE)
		fprintf(out, "# Of what was read ahead %.0f %% was dropped "
			"unused: less of it.\nmap-ahead = 2M\n",
			100 * u->waste);
}

static void put_priority(FILE *out, const struct use *u, bool others)
{
	if (u->gains && !u->random && others)
		fprintf(out, "# It is read in order beside files that are read "
			"here and there: it makes\n# room first.\n"
			"priority = low\n");
}

static void put_stores(FILE *out, const struct use *u)
{
	if (u->written > OFTEN)
		fprintf(out, "# It was written %.1f times over: stores to the "
			"same pages may wait longer for\n# their write-back. "
			"The price: what kills the program and its guardian at "
			"once loses\n# up to half a minute of stores instead "
			"of 6 seconds.\nwb-interval = 30000\n", u->written);
}

/* Handed to the kernel over and over: it has it from the beginning. */
static bool put_server(FILE *out, const json_t *f)
{
	const double n = doc_real(f, "demotions");

	if (n < 3)
		return false;
	fprintf(out, "# The engine handed it to the kernel %.0f times (%s): "
		"the kernel serves it\n# from the beginning, with our "
		"advice.\nserve = advised\n", n, doc_text(f, "demote_why"));
	return true;
}

static void put_file(FILE *out, const json_t *f, bool others)
{
	const struct use u = use_of(f);

	if (!can_be_named(doc_text(f, "path"))) {
		fprintf(out, "\n# No section can name ");
		put_path(out, doc_text(f, "path"));
		fprintf(out, "\n");
		return;
	}
	fprintf(out, "\n[path %s]\n", doc_text(f, "path"));
	if (put_server(out, f))
		return;
	put_gain(out, &u);
	put_block(out, &u);
	put_ahead(out, &u);
	put_priority(out, &u, others);
	put_stores(out, &u);
}

/* ---- the cache ---------------------------------------------------------- */

/* What the curve says of one size; -1: it does not. */
static double part(const json_t *doc, const char *key)
{
	const json_t *e = json_object_get(json_object_get(doc, "cache"),
					  "estimate");
	const json_t *v = json_object_get(e, key);

	return json_is_number(v) ? json_number_value(v) : -1;
}

static void put_curve(FILE *out, const json_t *doc)
{
	static const struct {
		const char *key, *name;
	} sizes[] = { { "quarter_percent", "a quarter" },
		      { "half_percent", "half" },
		      { "double_percent", "twice" },
		      { "fourfold_percent", "four times" } };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		const double p = part(doc, sizes[i].key);

		if (p >= 0)
			fprintf(out, "#   %-10s the cache: %4.0f %% of the "
				"loads\n", sizes[i].name, p);
		else
			fprintf(out, "#   %-10s the cache: not known\n",
				sizes[i].name);
	}
}

static void put_size(FILE *out, double bytes)
{
	fprintf(out, "cache = %.0fM\n", mib(bytes) < 1 ? 1 : mib(bytes));
}

/* One that is larger, if it pays and there is memory for it. */
static bool put_larger(FILE *out, const json_t *doc, double limit,
		       double memory)
{
	const double two = part(doc, "double_percent"),
		     four = part(doc, "fourfold_percent");
	const double times = four >= 0 && four < two * 0.8 ? 4 : 2;
	const double saves = times == 4 ? four : two;

	if (saves < 0 || saves > GAIN)
		return false;
	fprintf(out, "# %.0f times the cache would save %.0f %% of the "
		"loads.\n", times, 100 - saves);
	if (limit * times > memory * 7 / 8) {
		fprintf(out, "# There is no memory for that: the program may "
			"use %.0f MiB.\n", mib(memory));
		return false;
	}
	put_size(out, limit * times);
	return true;
}

/* Nothing was evicted: what was read, and a little more, is enough. */
static void put_unfilled(FILE *out, const json_t *doc, double limit)
{
	const double read = doc_real(json_object_get(doc, "totals"),
				   "all_load_bytes");

	fprintf(out, "# The cache (%.0f MiB) was never full: %.0f MiB were "
		"read, all told.\n", mib(limit), mib(read));
	if (read > 0 && read * 1.25 < limit)
		put_size(out, read * 1.25 + (16 << 20));
}

/* As the option says it: what huge pages take of it is in no other number. */
static double size_of(const json_t *doc)
{
	const json_t *s = json_object_get(doc, "settings");

	if (json_is_true(json_object_get(s, "cache_auto")))
		return doc_real(json_object_get(doc, "cache"), "limit_bytes");
	return doc_real(s, "cache_bytes");
}

static void put_cache(FILE *out, const json_t *doc, double memory)
{
	const json_t *c = json_object_get(doc, "cache");
	const double limit = size_of(doc);
	const double half = part(doc, "half_percent");

	if (doc_real(json_object_get(doc, "totals"), "all_evictions") <= 0) {
		put_unfilled(out, doc, limit);
		return;
	}
	fprintf(out, "# Loads with another cache than this of %.0f MiB, "
		"estimated:\n", mib(limit));
	put_curve(out, doc);
	fprintf(out, "# Of %.0f pages that were evicted %.0f came back before "
		"as many had left\n# as the cache has.\n",
		doc_real(c, "evicted"), doc_real(c, "came_back"));
	if (put_larger(out, doc, limit, memory))
		return;
	if (half >= 0 && half <= SAME) {
		fprintf(out, "# Half of it would load hardly more.\n");
		put_size(out, limit / 2);
	} else {
		put_size(out, limit);
	}
}

/* ---- what the kernel serves --------------------------------------------- */

static void put_left(FILE *out, const json_t *doc)
{
	const json_t *f, *why;
	size_t i;

	json_array_foreach(json_object_get(doc, "left_to_kernel"), i, f) {
		if (i == MOST_FILES)
			break;
		why = json_array_get(json_object_get(f, "why"), 0);
		fprintf(out, "%s#   ", i ? "" :
			"\n# Left to the kernel, and why:\n");
		put_path(out, doc_text(f, "path"));
		fprintf(out, ": %s\n", doc_text(why, "reason"));
	}
}

/* ---- the whole ---------------------------------------------------------- */

struct sums {
	unsigned files, gain, random, left;
	bool others; /* files that are read here and there, and gain */
};

static struct sums sum(const json_t *doc)
{
	struct sums s = { .left = (unsigned)json_array_size(
				  json_object_get(doc, "left_to_kernel")) };
	const json_t *f;
	size_t i;

	json_array_foreach(json_object_get(doc, "files"), i, f) {
		const struct use u = use_of(f);

		s.files++;
		s.gain += u.gains;
		s.random += u.gains && u.random;
	}
	s.others = s.random > 0;
	return s;
}

static void put_verdict(FILE *out, const json_t *doc, const struct sums *s)
{
	const double two = part(doc, "double_percent");

	fprintf(out, "# Verdict: ");
	if (!s->files)
		fprintf(out, "the engine served nothing, so there is nothing "
			"to gain%s.\n", s->left ? " (reasons below)" : "");
	else if (!s->gain)
		fprintf(out, "all of it fits into the cache: the engine is as "
			"good as the kernel here, hardly better.\n");
	else if (two >= 0 && two <= GAIN)
		fprintf(out, "%u of %u files gain, and would gain more from a "
			"larger cache.\n", s->gain, s->files);
	else
		fprintf(out, "%u of %u files gain (%u are read here and "
			"there).\n", s->gain, s->files, s->random);
	fprintf(out, "# In seconds: fastmap compare --policy THIS-FILE -- "
		"PROGRAM\n");
}

static int by_faults(const void *a, const void *b)
{
	const double x = use_of(*(json_t *const *)a).faults,
		     y = use_of(*(json_t *const *)b).faults;

	return x < y ? 1 : x > y ? -1 : 0;
}

static void put_files(FILE *out, const json_t *doc, bool others)
{
	const json_t *files = json_object_get(doc, "files");
	const size_t n = json_array_size(files);
	const json_t **list = calloc(n + 1, sizeof(*list));
	size_t i, k = 0;

	if (!list)
		return;
	for (i = 0; i < n; i++)
		list[k++] = json_array_get(files, i);
	qsort(list, n, sizeof(*list), by_faults);
	for (i = 0; i < n && i < MOST_FILES; i++)
		if (use_of(list[i]).faults >= FEW)
			put_file(out, list[i], others);
	if (i < n)
		fprintf(out, "\n# %zu more files are used less.\n", n - i);
	free(list);
}

/* The process that had the most to do: the others are its helpers. */
static const json_t *busiest(const json_t *docs)
{
	const json_t *doc, *ret = NULL;
	double most = -1;
	size_t i;

	json_array_foreach(docs, i, doc) {
		const double n = doc_real(json_object_get(doc, "totals"),
					"answered");

		if (!json_is_object(json_object_get(doc, "totals")) ||
		    !json_is_object(json_object_get(doc, "cache")))
			return NULL;
		if (n > most) {
			most = n;
			ret = doc;
		}
	}
	return ret;
}

int suggestion_write(const json_t *docs, uint64_t memory, FILE *out)
{
	const json_t *doc = busiest(docs);
	struct sums s;

	if (!doc)
		return -1;
	s = sum(doc);
	fprintf(out, "# Suggested by fastmap for ");
	put_path(out, doc_text(doc, "program"));
	fprintf(out, " (process %.0f, %.0f s).\n", doc_real(doc, "pid"),
		doc_real(doc, "uptime"));
	put_verdict(out, doc, &s);
	if (s.files) {
		fprintf(out, "\n");
		put_cache(out, doc, (double)memory);
		put_files(out, doc, s.others);
	}
	put_left(out, doc);
	return 0;
}
