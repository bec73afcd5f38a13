/* SPDX-License-Identifier: MIT */
/* report.c - the JSON object of a run, and the records it was asked for. */
#include "report.h"

#include <stdio.h>

static void save(const char *path, const void *data, size_t len)
{
	FILE *f = fopen(path, "we");

	if (!f || fwrite(data, 1, len, f) != len || fclose(f))
		fail(path);
}

void save_records(struct load *l)
{
	uint64_t n = atomic_load(&l->trace_n);

	if (l->written)
		save(l->written_path, (void *)l->written,
		     ((l->offset + l->range) / PAGE / 64 + 1) * 8);
	if (l->trace)
		save(l->trace_path, (void *)l->trace,
		     8 * (n < l->trace_max ? n : l->trace_max));
}

static void print_head(const struct load *l)
{
	static const char *const ops[] = { "read", "write", "rmw" };

	printf("{\"pattern\":\"%s\",\"op\":\"%s\",\"members\":%u,"
	       "\"how\":\"%s\",\"threads\":%u,\"hint\":\"%s\","
	       "\"range\":%lu,\"touch\":\"%s\",\"gen\":%lu",
	       l->pattern, ops[l->op], l->members,
	       l->forked ? "forked" : l->processes ? "processes" : "one",
	       l->threads, l->hint, l->range, l->touch_all ? "all" : "word",
	       l->gen);
}

static void print_latency(const struct hist *h)
{
	printf(",\"timed\":%lu,\"lat_ns\":{\"p50\":%lu,\"p90\":%lu,\"p99\":%lu,"
	       "\"p999\":%lu,\"max\":%lu}", h->count, hist_quantile(h, 500),
	       hist_quantile(h, 900), hist_quantile(h, 990),
	       hist_quantile(h, 999), h->max);
}

static void print_passes(const struct passes *p)
{
	printf(",\"first_pass_s\":%.6f,\"second_pass_s\":%.6f,"
	       "\"random_touches\":%lu,\"random_s\":%.6f",
	       p->first, p->second, p->touches, p->random);
	if (p->later > 0)
		printf(",\"later_s\":%.6f,\"later_pass_s\":%.6f", p->later,
		       p->later_pass);
}

static void print_counts(const struct outcome *o)
{
	const struct worker *w = &o->sum;

	printf(",\"elapsed_s\":%.6f,\"msync_s\":%.6f,\"accesses\":%lu,"
	       "\"wrong\":%lu", o->elapsed, o->sync_s, w->accesses, w->wrong);
	printf(",\"rate\":%.2f,\"rate_with_msync\":%.2f",
	       (double)w->accesses / o->elapsed,
	       (double)w->accesses / (o->elapsed + o->sync_s));
	print_latency(&w->hist);
	if (w->hot)
		printf(",\"hot\":%lu,\"hot_hit_ratio\":%.6f", w->hot,
		       (double)w->hot_hits / (double)w->hot);
}

void report(const struct load *l, const struct outcome *o)
{
	print_head(l);
	if (o->sum.passes.touches)
		print_passes(&o->sum.passes);
	print_counts(o);
	printf(",\"rss_bytes\":%lu,\"peak_rss_bytes\":%lu,\"pte_bytes\":%lu,"
	       "\"anon_bytes\":%lu", o->sizes.rss, o->sizes.peak,
	       o->sizes.pte, o->sizes.anon);
	usage_print(&o->used);
	puts("}");
}
