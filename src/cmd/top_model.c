/* SPDX-License-Identifier: MIT */
#include "top_model.h"

#include <stdlib.h>
#include <string.h>

#include "glob.h"
#include "stats_doc.h"

static void take_totals(struct top_file *f, const json_t *o)
{
	f->total[TOP_FAULTS] = doc_faults(o);
	f->total[TOP_ABSENT] = f->total[TOP_FAULTS] - doc_uint(o, "faults_wp");
	f->total[TOP_HITS] = doc_uint(o, "hits_ahead") +
			     doc_uint(o, "hits_standby") +
			     doc_uint(o, "hits_alias");
	f->total[TOP_READ] = doc_uint(o, "load_bytes");
	f->total[TOP_WRITTEN] = doc_uint(o, "wb_bytes");
}

/* Also one that was left to the kernel: what it has no key for is 0. */
static bool top_model_take_file(struct top_file *f, const json_t *stats,
				const json_t *o)
{
	char waits[DOC_WAITS];

	f->path = strdup(doc_text(o, "path"));
	f->device = doc_uint(o, "device");
	f->inode = doc_uint(o, "inode");
	f->size = doc_uint(o, "size");
	f->resident = doc_uint(o, "resident_bytes");
	f->dirty = doc_uint(o, "dirty_bytes");
	f->server = doc_server(stats, o);
	f->engine = !strcmp(f->server, "engine");
	f->why = strdup(*doc_waits(o, waits) || f->engine ? waits :
							    doc_why(o));
	take_totals(f, o);
	return f->path && f->why;
}

static const struct top_file *top_model_find(const struct top_process *p,
					     const struct top_file *f)
{
	for (unsigned i = 0; p && i < p->files; i++)
		if (p->file[i].inode == f->inode &&
		    p->file[i].device == f->device)
			return &p->file[i];
	return NULL;
}

static void top_model_file_free(struct top_file *f)
{
	free(f->path);
	free(f->why);
	memset(f, 0, sizeof(*f));
}

static bool take_files(struct top_process *p, const json_t *stats,
		       const json_t *files)
{
	size_t i;
	json_t *o;

	p->file = calloc(json_array_size(files) + 1, sizeof(*p->file));
	if (!p->file)
		return false;
	json_array_foreach(files, i, o)
		if (!top_model_take_file(&p->file[p->files++], stats, o))
			return false;
	return true;
}

static void take_heap(struct top_process *p, const json_t *heap)
{
	p->heap = doc_uint(heap, "file_bytes") +
		  doc_uint(heap, "memory_bytes");
	p->heap_out = doc_uint(heap, "paged_out_bytes");
	p->heap_used = p->heap && json_is_integer(
					  json_object_get(heap, "used_bytes")) ?
		100.0 * (double)doc_uint(heap, "used_bytes") / (double)p->heap :
		-1;
}

struct top_process *top_process_new(const json_t *stats)
{
	const json_t *cache = json_object_get(stats, "cache");
	const json_t *latency = json_object_get(stats, "latency");
	struct top_process *p = calloc(1, sizeof(*p));
	json_t *files = doc_files(stats);
	bool ok;

	if (!p || !files) {
		free(p);
		json_decref(files);
		return NULL;
	}
	p->stats = json_incref((json_t *)stats);
	p->pid = (pid_t)doc_uint(stats, "pid");
	p->program = strdup(fm_base_name(doc_text(stats, "program")));
	p->uptime = doc_real(stats, "uptime");
	p->limit = doc_uint(cache, "limit_bytes");
	p->resident = doc_uint(cache, "resident_bytes");
	p->dirty = doc_uint(cache, "dirty_bytes");
	p->lazy = doc_uint(cache, "lazy_bytes");
	take_heap(p, json_object_get(stats, "heap"));
	p->p50 = doc_real(latency, "p50_us");
	p->p99 = doc_real(latency, "p99_us");
	ok = p->pid && p->program && take_files(p, stats, files);
	json_decref(files);
	if (ok)
		return p;
	top_process_free(p);
	return NULL;
}

void top_process_free(struct top_process *p)
{
	if (!p)
		return;
	for (unsigned i = 0; i < p->files; i++)
		top_model_file_free(&p->file[i]);
	free(p->file);
	free(p->program);
	json_decref(p->stats);
	free(p);
}

/* ---- what has happened ------------------------------------------------- */

static double top_model_share(double part, double whole)
{
	/* counted one after the other: a fault may be in between */
	return whole <= 0 ? -1 : part >= whole ? 100 : part / whole * 100;
}

/* A file that was closed and mapped again counts from nothing. */
static double top_model_since(const struct top_file *now,
			      const struct top_file *before, enum top_total t)
{
	const uint64_t n = now->total[t];

	return (double)(before && before->total[t] <= n ?
			n - before->total[t] : n);
}

static void file_rates(struct top_file *f, const struct top_file *before,
		       double seconds)
{
	for (enum top_total t = 0; t < TOP_TOTALS; t++)
		f->rate[t] = seconds > 0
				     ? top_model_since(f, before, t) / seconds
				     : 0;
	f->hit = top_model_share(f->rate[TOP_HITS], f->rate[TOP_ABSENT]);
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

		file_rates(f, top_model_find(before, f), seconds);
		for (enum top_total t = 0; t < TOP_TOTALS; t++)
			now->rate[t] += f->rate[t];
	}
	now->hit = top_model_share(now->rate[TOP_HITS], now->rate[TOP_ABSENT]);
}
