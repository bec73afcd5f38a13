/* SPDX-License-Identifier: MIT */
#include "top_model.h"

#include <stdlib.h>
#include <string.h>

/* ---- the document ------------------------------------------------------ */

static uint64_t number(const json_t *o, const char *key)
{
	const json_int_t v = json_integer_value(json_object_get(o, key));

	return v > 0 ? (uint64_t)v : 0;
}

static double real(const json_t *o, const char *key)
{
	return json_number_value(json_object_get(o, key));
}

static char *text(const json_t *o, const char *key)
{
	const char *s = json_string_value(json_object_get(o, key));

	return strdup(s ? s : "");
}

static const char *base_name(const char *path)
{
	const char *slash = strrchr(path, '/');

	return slash && slash[1] ? slash + 1 : path;
}

/* As docs/statistics.md has it: what a chunk of readahead answers is in no
 * other count of faults. */
static void take_totals(struct top_file *f, const json_t *o)
{
	const uint64_t chunks = number(o, "hits_ahead") +
				number(o, "hits_standby");

	f->total[TOP_ABSENT] = chunks + number(o, "faults_read") +
			       number(o, "faults_write");
	f->total[TOP_FAULTS] = f->total[TOP_ABSENT] + number(o, "faults_wp");
	f->total[TOP_HITS] = chunks + number(o, "hits_alias");
	f->total[TOP_READ] = number(o, "load_bytes");
	f->total[TOP_WRITTEN] = number(o, "wb_bytes");
}

static bool take_file(struct top_file *f, const json_t *o)
{
	const char *server = json_string_value(json_object_get(o, "server"));

	f->path = text(o, "path");
	f->device = number(o, "device");
	f->inode = number(o, "inode");
	f->size = number(o, "size");
	f->resident = number(o, "resident_bytes");
	f->dirty = number(o, "dirty_bytes");
	f->engine = server && !strcmp(server, "engine");
	f->why = f->engine ? strdup("") : text(o, "demote_why");
	take_totals(f, o);
	return f->path && f->why;
}

static bool take_left(struct top_file *f, const json_t *o)
{
	const json_t *why = json_array_get(json_object_get(o, "why"), 0);

	f->path = text(o, "path");
	f->device = number(o, "device");
	f->inode = number(o, "inode");
	f->size = number(o, "size");
	f->why = text(why, "reason");
	return f->path && f->why;
}

static const struct top_file *find(const struct top_process *p,
				   const struct top_file *f)
{
	for (unsigned i = 0; p && i < p->files; i++)
		if (p->file[i].inode == f->inode &&
		    p->file[i].device == f->device)
			return &p->file[i];
	return NULL;
}

static void file_free(struct top_file *f)
{
	free(f->path);
	free(f->why);
	memset(f, 0, sizeof(*f));
}

static bool is_open(const json_t *file)
{
	return json_is_true(json_object_get(file, "open"));
}

/* A file whose mappings differ is in both lists: the first tells more. */
static bool take_files(struct top_process *p, const json_t *files,
		       const json_t *left)
{
	size_t i;
	json_t *o;

	p->file = calloc(json_array_size(files) + json_array_size(left) + 1,
			 sizeof(*p->file));
	if (!p->file)
		return false;
	json_array_foreach(files, i, o)
		if (is_open(o) && !take_file(&p->file[p->files++], o))
			return false;
	json_array_foreach(left, i, o) {
		struct top_file *f = &p->file[p->files];

		if (!take_left(f, o))
			return false;
		if (find(p, f))
			file_free(f);
		else
			p->files++;
	}
	return true;
}

struct top_process *top_process_new(const json_t *stats)
{
	const json_t *cache = json_object_get(stats, "cache");
	const json_t *latency = json_object_get(stats, "latency");
	const char *program =
		json_string_value(json_object_get(stats, "program"));
	struct top_process *p = calloc(1, sizeof(*p));

	if (!p)
		return NULL;
	p->pid = (pid_t)number(stats, "pid");
	p->program = strdup(program ? base_name(program) : "");
	p->uptime = real(stats, "uptime");
	p->limit = number(cache, "limit_bytes");
	p->resident = number(cache, "resident_bytes");
	p->dirty = number(cache, "dirty_bytes");
	p->lazy = number(cache, "lazy_bytes");
	p->p50 = real(latency, "p50_us");
	p->p99 = real(latency, "p99_us");
	if (p->pid && p->program &&
	    take_files(p, json_object_get(stats, "files"),
		       json_object_get(stats, "left_to_kernel")))
		return p;
	top_process_free(p);
	return NULL;
}

void top_process_free(struct top_process *p)
{
	if (!p)
		return;
	/* One more: the last may have been taken in part. */
	for (unsigned i = 0; p->file && i <= p->files; i++)
		if (p->file[i].path || p->file[i].why)
			file_free(&p->file[i]);
	free(p->file);
	free(p->program);
	free(p);
}

/* ---- what has happened ------------------------------------------------- */

static double share(double part, double whole)
{
	/* counted one after the other: a fault may be in between */
	return whole <= 0 ? -1 : part >= whole ? 100 : part / whole * 100;
}

/* A file that was closed and mapped again counts from nothing. */
static double since(const struct top_file *now, const struct top_file *before,
		    enum top_total t)
{
	const uint64_t n = now->total[t];

	return (double)(before && before->total[t] <= n ?
			n - before->total[t] : n);
}

static void file_rates(struct top_file *f, const struct top_file *before,
		       double seconds)
{
	for (enum top_total t = 0; t < TOP_TOTALS; t++)
		f->rate[t] = seconds > 0 ? since(f, before, t) / seconds : 0;
	f->hit = share(f->rate[TOP_HITS], f->rate[TOP_ABSENT]);
}

void top_rates(struct top_process *now, const struct top_process *before)
{
	double seconds = now->uptime;

	if (before && (before->pid != now->pid || before->uptime > seconds))
		before = NULL;
	if (before)
		seconds -= before->uptime;
	memset(now->rate, 0, sizeof(now->rate));
	for (unsigned i = 0; i < now->files; i++) {
		struct top_file *f = &now->file[i];

		file_rates(f, find(before, f), seconds);
		for (enum top_total t = 0; t < TOP_TOTALS; t++)
			now->rate[t] += f->rate[t];
	}
	now->hit = share(now->rate[TOP_HITS], now->rate[TOP_ABSENT]);
}
