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
#define MUCH_WASTE 0.25  /* of what was read ahead */
#define GAIN 10.0        /* percent of the loads: worth twice the memory */
#define OFTEN 2          /* times each page was written */

static double mib(double bytes)
{
	return bytes / (1 << 20);
}

/* ---- what a file is like ------------------------------------------------ */

struct use {
	double faults, ahead; /* and those of them that readahead answered */
	double evicted;
	double waste;         /* part of what was read ahead */
	double written;       /* times that the whole file was */
	bool random, exceeds; /* the cache, as large as it is */
};

/* What has left a cache of another size does not count. */
static bool is_full(const json_t *doc)
{
	const json_t *left = json_object_get(json_object_get(doc, "cache"),
					     "left_since_set");

	if (json_is_number(left))
		return json_number_value(left) > 0;
	return doc_real(json_object_get(doc, "totals"), "all_evictions") > 0;
}

static struct use use_of(const json_t *doc, const json_t *f)
{
	const double ahead = doc_real(f, "ahead_pages");
	const double size = doc_real(f, "size");
	struct use u = {
		.faults = (double)doc_faults(f),
		.ahead = doc_real(f, "hits_ahead"),
		.evicted = doc_real(f, "evictions"),
	};

	u.waste = ahead > 0 ? doc_real(f, "ahead_waste") / ahead : 0;
	u.written = size > 0 ? doc_real(f, "wb_bytes") / size : 0;
	u.random = u.ahead < u.faults / 4;
	u.exceeds = u.faults >= FEW && u.evicted > 0 && is_full(doc);
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
	if (u->exceeds && u->random)
		fprintf(out, "# Read here and there, and more than the cache "
			"holds\n# (%.0f faults, %.0f pages evicted).\n",
			u->faults, u->evicted);
	else if (u->exceeds)
		fprintf(out, "# More than the cache holds, read in order: "
			"readahead had %.0f of %.0f\n# faults; it does not "
			"drive out what else is in use.\n", u->ahead,
			u->faults);
	else
		fprintf(out, "# All of it stays in the cache: only its first "
			"read can be faster\n# (%.0f faults).\n", u->faults);
	fprintf(out, "engage = yes\n");
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
	if (u->exceeds && !u->random && others)
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

/* Not by the program's doing, so no reason for the next run: as fastmap demote
 * has it, and the engine that tries what is faster (src/file/server.c). */
static bool suggestion_passes(const char *why)
{
	return !strcmp(why, "a command asked for it") ||
	       !strcmp(why, "to see whether the kernel is faster here");
}

/* Handed to the kernel over and over: it has it from the beginning. */
static bool suggestion_put_server(FILE *out, const json_t *f)
{
	const double n = doc_real(f, "demotions");
	const char *why = doc_text(f, "demote_why");

	if (n >= 3 && !suggestion_passes(why)) {
		fprintf(out, "# The engine handed it to the kernel %.0f times "
			"(%s): the kernel serves it\n# from the beginning, "
			"with our advice.\nserve = advised\n", n, why);
		return true;
	}
	if (!strcmp(doc_text(f, "server"), "kernel"))
		fprintf(out, "# The kernel serves it now (%s): this is of the "
			"time before.\n", why);
	return false;
}

static void suggestion_put_file(FILE *out, const json_t *doc, const json_t *f,
				bool others)
{
	const struct use u = use_of(doc, f);

	if (!can_be_named(doc_text(f, "path"))) {
		fprintf(out, "\n# No section can name ");
		put_path(out, doc_text(f, "path"));
		fprintf(out, "\n");
		return;
	}
	fprintf(out, "\n[path %s]\n", doc_text(f, "path"));
	if (suggestion_put_server(out, f))
		return;
	put_gain(out, &u);
	put_ahead(out, &u);
	put_priority(out, &u, others);
	put_stores(out, &u);
}

/* ---- the cache ---------------------------------------------------------- */

/* Percent of the loads that twice the cache would have saved, at least: what
 * came back before as much had left as the cache has. */
static double saved_by_twice(const json_t *doc)
{
	const json_t *f;
	double bytes = 0;
	size_t i;

	json_array_foreach(json_object_get(doc, "files"), i, f)
		bytes += doc_real(f, "load_bytes");
	return bytes > 0 ? doc_real(json_object_get(doc, "cache"),
				    "came_back") * 4096 * 100 / bytes : 0;
}

static void put_size(FILE *out, double bytes)
{
	fprintf(out, "cache = %.0fM\n", mib(bytes) < 1 ? 1 : mib(bytes));
}

static double suggestion_least(double a, double b)
{
	return a < b ? a : b;
}

/* What has come into the cache of one file, by number: however often it was
 * dropped, handed over and read again, no more than the file. */
static void add_need(json_t *needs, const json_t *f)
{
	char key[48];
	const double size = doc_real(f, "size"); /* 0: cut off since */
	json_t *was;
	double came = doc_real(f, "load_bytes") + doc_real(f, "wb_bytes") +
		      doc_real(f, "dirty_bytes");

	snprintf(key, sizeof(key), "%" PRIu64 ":%" PRIu64,
		 doc_uint(f, "device"), doc_uint(f, "inode"));
	was = json_object_get(needs, key);
	came += json_real_value(was);
	if (size > 0)
		came = suggestion_least(came, size);
	json_object_set_new(needs, key, json_real(came));
}

/* A cache that has all of it, and a little more: for what is on its way, and
 * what eviction keeps free. */
static double size_for_all(const json_t *doc)
{
	json_t *needs = json_object(), *need;
	const json_t *f;
	const char *key;
	double sum = 0;
	size_t i;

	json_array_foreach(json_object_get(doc, "files"), i, f)
		add_need(needs, f);
	json_object_foreach(needs, key, need)
		sum += json_real_value(need);
	json_decref(needs);
	return sum * 1.25 + (16 << 20);
}

/* One that is larger, if it pays and there is memory for it. */
static bool put_larger(FILE *out, const json_t *doc, double limit,
		       double memory)
{
	const double want = suggestion_least(limit * 2, size_for_all(doc));

	if (saved_by_twice(doc) < GAIN)
		return false;
	if (want > memory * 7 / 8) {
		fprintf(out, "# There is no memory for that: the program may "
			"use %.0f MiB.\n", mib(memory));
		return false;
	}
	if (want < limit * 2)
		fprintf(out, "# So much has room for all that was read.\n");
	put_size(out, want);
	return true;
}

/* Nothing was evicted from a cache of that size: what was used, and a little
 * more, is enough. */
static void put_unfilled(FILE *out, const json_t *doc, double limit)
{
	const double all = size_for_all(doc);

	if (!is_full(doc))
		fprintf(out, "# The cache (%.0f MiB) was never full.\n",
			mib(limit));
	else
		fprintf(out, "# What was evicted was so while the cache was "
			"smaller than its %.0f MiB.\n", mib(limit));
	if (all >= limit)
		return;
	fprintf(out, "# So much has room for all that was read.\n");
	put_size(out, all);
}

/* As the option says it: what huge pages take of it is in no other number. */
static double suggestion_size_of(const json_t *doc)
{
	const json_t *s = json_object_get(doc, "settings");

	if (json_is_true(json_object_get(s, "cache_auto")))
		return doc_real(json_object_get(doc, "cache"), "limit_bytes");
	return doc_real(s, "cache_bytes");
}

/* Where the process runs; a share says it, else `here`. */
static double memory_of(const json_t *doc, double here)
{
	const json_t *s = json_object_get(doc, "settings");
	const double percent = doc_real(s, "cache_percent");

	return percent > 0 ? doc_real(s, "cache_bytes") * 100 / percent : here;
}

static void put_cache(FILE *out, const json_t *doc, double memory)
{
	const json_t *c = json_object_get(doc, "cache");
	const double limit = suggestion_size_of(doc);

	if (!is_full(doc) || size_for_all(doc) <= limit) {
		put_unfilled(out, doc, limit);
		return;
	}
	fprintf(out, "# Of %.0f pages that were evicted %.0f came back before "
		"as many had left\n# as the cache has: twice these %.0f MiB "
		"would save %.0f %% of the loads.\n",
		doc_real(c, "evicted"), doc_real(c, "came_back"), mib(limit),
		saved_by_twice(doc));
	if (!put_larger(out, doc, limit, memory_of(doc, memory)))
		put_size(out, limit);
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
	unsigned files, exceed, random, left;
	bool others; /* files that are read here and there, and exceed it */
};

static struct sums suggestion_sum(const json_t *doc)
{
	struct sums s = { .left = (unsigned)json_array_size(
				  json_object_get(doc, "left_to_kernel")) };
	const json_t *f;
	size_t i;

	json_array_foreach(json_object_get(doc, "files"), i, f) {
		const struct use u = use_of(doc, f);

		s.files++;
		s.exceed += u.exceeds;
		s.random += u.exceeds && u.random;
	}
	s.others = s.random > 0;
	return s;
}

static void put_seen(FILE *out, const json_t *doc, const struct sums *s)
{
	fprintf(out, "# Seen: ");
	if (!s->files)
		fprintf(out, "the engine served nothing, so there is nothing "
			"to gain%s.\n", s->left ? " (reasons below)" : "");
	else if (!s->exceed)
		fprintf(out, "all of it fits into the cache: the engine is as "
			"good as the kernel here, hardly better.\n");
	else
		fprintf(out, "of %u files %u had more than the cache holds, %u "
			"of these read here and\n# there%s.\n", s->files,
			s->exceed, s->random, saved_by_twice(doc) >= GAIN ?
			"; a larger cache would load less" : "");
}

/* Nothing is promised that has not been seen to come of it. */
static void put_verdict(FILE *out, const json_t *doc,
			const struct suggestion_trial *t)
{
	if (t->verdict)
		fprintf(out, "# Verdict: ");
	else
		fprintf(out, "# Untried%s. What it gains, when this is saved "
			"as a file:\n#   fastmap compare --policy FILE -- ",
			t->why_not);
	put_path(out, t->verdict ? t->verdict : doc_text(doc, "program"));
	fputs(t->verdict ? ".\n" : " ARG...\n", out);
}

static int by_faults(const void *a, const void *b)
{
	const uint64_t x = doc_faults(*(json_t *const *)a),
		       y = doc_faults(*(json_t *const *)b);

	return (x < y) - (x > y);
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
		if (doc_faults(list[i]) >= FEW)
			suggestion_put_file(out, doc, list[i], others);
	if (i < n)
		fprintf(out, "\n# %zu more files are used less.\n", n - i);
	free(list);
}

/* The process that had the most to do: the others are its helpers. */
const json_t *suggestion_of(const json_t *docs)
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

void suggestion_write(const json_t *doc, uint64_t memory,
		      const struct suggestion_trial *t, FILE *out)
{
	const struct sums s = suggestion_sum(doc);

	fprintf(out, "# Suggested by fastmap for ");
	put_path(out, doc_text(doc, "program"));
	fprintf(out, " (process %.0f, %.0f s).\n", doc_real(doc, "pid"),
		doc_real(doc, "uptime"));
	put_seen(out, doc, &s);
	if (s.files) {
		put_verdict(out, doc, t);
		fprintf(out, "\n");
		put_cache(out, doc, (double)memory);
		put_files(out, doc, s.others);
	}
	put_left(out, doc);
}
