/* SPDX-License-Identifier: MIT */
/*
 * metrics.c - the counters (stats_fields.c) and other values as metrics. The
 * guardian writes them too: no lock is taken there.
 *
 * Counts of a file are given while it is open; those of the process include
 * closed ones, so that they never fall.
 */
#include "metrics.h"

#include <string.h>

#include "base/control.h"
#include "base/epoch.h"
#include "base/life.h"
#include "base/lock.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/thread.h"
#include "cache/cache.h"
#include "fault/fault.h"
#include "file/file.h"
#include "glob.h"
#include "observe/version.h"
#include "stats_priv.h"
#include "writeback/writeback.h"

#define MOST_FILES 256 /* each is a series of every metric */

/* A value of the process. */
struct gauge {
	const char *name, *help, *type;
	uint64_t (*get)(void);
};

static uint64_t pages_to_bytes(int64_t n)
{
	return n > 0 ? (uint64_t)n * FM_PAGE : 0;
}

static uint64_t metrics_resident(void)
{
	return pages_to_bytes(fm_cache_resident());
}

static uint64_t lazy(void)
{
	return fm_lazyfree_pages() * FM_PAGE;
}

static uint64_t dirty(void)
{
	return pages_to_bytes(atomic_load(&fm_dirty_total));
}

static uint64_t uptime(void)
{
	return fm_stats_uptime_ms() / 1000;
}

static const struct gauge gauges[] = {
	{ "uptime_seconds", "Since the library was loaded", "gauge", uptime },
	{ "cache_limit_bytes", "What the cache may have", "gauge",
	  fm_mem_monitor_target },
	{ "cache_resident_bytes", "What the cache has", "gauge",
	  metrics_resident },
	{ "cache_lazy_bytes",
	  "Evicted pages that are kept while memory is free", "gauge", lazy },
	{ "cache_dirty_bytes", "Stored and not yet written", "gauge", dirty },
	{ "cache_evicted_pages_total", "Pages evicted one by one", "counter",
	  fm_ghost_evicted },
	{ "cache_came_back_pages_total", "Evicted pages loaded again soon",
	  "counter", fm_ghost_came_back },
};
#define GAUGES (sizeof(gauges) / sizeof(gauges[0]))

/* ---- the text ---------------------------------------------------------- */

struct page {
	struct fm_json *o;
	struct fm_file_stats sum;
	struct fm_file *file[MOST_FILES];
	unsigned files;
	char program[64], pid[12];
};

static struct page page; /* under the lock */
static struct fm_lock lock = FM_LOCK(FM_RANK_REPORT);

/* A string of JSON is one of Prometheus where no byte is a control character:
 * quotes and backslashes are escaped alike, and both are UTF-8. */
static void put_label(struct page *p, const char *name, const char *value)
{
	char text[256];

	fm_join(text, sizeof(text), value, "", "");
	for (char *s = text; *s; s++)
		if ((unsigned char)*s < ' ')
			*s = '?';
	fm_json_raw(p->o, name);
	fm_json_raw(p->o, "=");
	p->o->depth = 0;
	p->o->more = false;
	fm_json_text(p->o, NULL, text);
}

/* # TYPE fastmap_file_loads_total counter */
static void put_family(struct page *p, const char *prefix, const char *name,
		       const char *suffix, const char *help, const char *type)
{
	const char *const lines[] = { "# HELP ", prefix, name, suffix, " ",
				      help, ".\n# TYPE ", prefix, name, suffix,
				      " ", type, "\n" };

	for (size_t i = 0; i < sizeof(lines) / sizeof(lines[0]); i++)
		fm_json_raw(p->o, lines[i]);
}

/* fastmap_loads_total{program="x",pid="1",file="/data/a"} */
static void put_series(struct page *p, const char *prefix, const char *name,
		       const char *suffix, const char *label, const char *value)
{
	fm_json_raw(p->o, prefix);
	fm_json_raw(p->o, name);
	fm_json_raw(p->o, suffix);
	fm_json_raw(p->o, "{");
	put_label(p, "program", p->program);
	fm_json_raw(p->o, ",");
	put_label(p, "pid", p->pid);
	if (label) {
		fm_json_raw(p->o, ",");
		put_label(p, label, value);
	}
	fm_json_raw(p->o, "} ");
}

static void put_value(struct page *p, uint64_t v)
{
	fm_json_raw_uint(p->o, v);
	fm_json_raw(p->o, "\n");
}

static void put_seconds(struct page *p, uint64_t ns)
{
	char digits[11] = ".000000000";

	fm_json_raw_uint(p->o, ns / 1000000000);
	for (int i = 9; i; i--, ns /= 10)
		digits[i] = (char)('0' + ns % 10);
	fm_json_raw(p->o, digits);
	fm_json_raw(p->o, "\n");
}

/* ---- the metrics ------------------------------------------------------- */

/* Times are in seconds: what ends with "_ns" is "_seconds_total" here. */
struct count {
	char name[32];
	const char *suffix, *help;
	bool ns;
};

static struct count count_of(unsigned i)
{
	const char *name = fm_stats_field_name(i);
	const size_t n = strlen(name);
	struct count c = { .suffix = "_total", .help = fm_stats_field_help(i) };

	fm_join(c.name, sizeof(c.name), name, "", "");
	c.ns = n > 3 && !strcmp(name + n - 3, "_ns");
	if (c.ns) {
		c.name[n - 3] = 0;
		c.suffix = "_seconds_total";
	}
	return c;
}

static void put_count(struct page *p, const struct count *c, uint64_t v)
{
	if (c->ns)
		put_seconds(p, v);
	else
		put_value(p, v);
}

static void put_counts(struct page *p)
{
	for (unsigned i = 0; i < FM_STATS_FIELDS; i++) {
		const struct count c = count_of(i);

		put_family(p, "fastmap_", c.name, c.suffix, c.help, "counter");
		put_series(p, "fastmap_", c.name, c.suffix, NULL, NULL);
		put_count(p, &c, fm_stats_field(&p->sum, i));
	}
}

static void put_file_counts(struct page *p)
{
	for (unsigned i = 0; i < FM_STATS_FIELDS && p->files; i++) {
		const struct count c = count_of(i);

		put_family(p, "fastmap_file_", c.name, c.suffix, c.help,
			   "counter");
		for (unsigned k = 0; k < p->files; k++) {
			put_series(p, "fastmap_file_", c.name, c.suffix,
				   "file", p->file[k]->path);
			put_count(p, &c,
				  fm_stats_field(p->file[k]->st, i));
		}
	}
}

static void put_file_gauge(struct page *p, const char *name, const char *help,
			   uint64_t (*get)(struct fm_file *f))
{
	if (!p->files)
		return;
	put_family(p, "fastmap_file_", name, "", help, "gauge");
	for (unsigned k = 0; k < p->files; k++) {
		put_series(p, "fastmap_file_", name, "", "file",
			   p->file[k]->path);
		put_value(p, get(p->file[k]));
	}
}

static uint64_t file_resident(struct fm_file *f)
{
	return pages_to_bytes(fm_cache_of(f));
}

static uint64_t file_dirty(struct fm_file *f)
{
	return pages_to_bytes(fm_dirty_count(f));
}

static uint64_t file_engine(struct fm_file *f)
{
	return !fm_kernel_serves(f);
}

static void put_gauges(struct page *p)
{
	put_family(p, "fastmap_", "info", "", "The library that is loaded",
		   "gauge");
	put_series(p, "fastmap_", "info", "", "version", FM_VERSION);
	put_value(p, 1);
	for (size_t i = 0; i < GAUGES; i++) {
		const struct gauge *g = &gauges[i];

		put_family(p, "fastmap_", g->name, "", g->help, g->type);
		put_series(p, "fastmap_", g->name, "", NULL, NULL);
		put_value(p, g->get());
	}
}

static void put_latency(struct page *p)
{
	static const struct {
		const char *name;
		unsigned per_100k;
	} quantiles[] = { { "0.5", 50000 }, { "0.9", 90000 },
			  { "0.99", 99000 }, { "0.999", 99900 } };
	static const char name[] = "fault_latency_seconds";
	static struct fm_hist h;

	fm_hist_reset(&h);
	fm_latency_sum(&h);
	put_family(p, "fastmap_", name, "", "Of faults, from arrival to end; "
		   "quantiles are of late", "summary");
	for (size_t i = 0; i < 4; i++) {
		put_series(p, "fastmap_", name, "", "quantile",
			   quantiles[i].name);
		put_seconds(p, fm_hist_percentile(&h,
						  quantiles[i].per_100k));
	}
	put_series(p, "fastmap_", name, "_sum", NULL, NULL);
	put_seconds(p, atomic_load(&p->sum.spent_ns));
	put_series(p, "fastmap_", name, "_count", NULL, NULL);
	put_value(p, fm_stats_faults(&p->sum));
}

/* ---- from the engine --------------------------------------------------- */

/* In an epoch, which keeps the files. */
static void metrics_collect(struct page *p)
{
	struct fm_file *f;

	fm_stats_retired(&p->sum, NULL, NULL);
	fm_for_each_file(f, id) {
		fm_stats_sum(&p->sum, f->st);
		if (p->files < MOST_FILES)
			p->file[p->files++] = f;
	}
}

static void metrics_put_all(struct page *p, bool alone)
{
	unsigned slot = alone ? 0 : fm_epoch_enter();

	metrics_collect(p);
	put_gauges(p);
	put_latency(p);
	put_counts(p);
	put_file_gauge(p, "resident_bytes", "In the engine's cache",
		       file_resident);
	put_file_gauge(p, "dirty_bytes", "Stored and not yet written",
		       file_dirty);
	put_file_gauge(p, "engine", "1: the engine serves it, 0: the kernel",
		       file_engine);
	put_file_counts(p);
	if (!alone)
		fm_epoch_leave(slot);
}

static void name_process(struct page *p, int pid)
{
	char exe[4096];
	long n = fm_sys_readlink("/proc/self/exe", exe, sizeof(exe) - 1);
	const char *base;

	exe[n > 0 ? n : 0] = 0;
	base = fm_base_name(exe);
	if (fm_join(p->program, sizeof(p->program), base, "", ""))
		memcpy(p->program, base, sizeof(p->program) - 1);
	fm_number_text(p->pid, (unsigned)pid);
}

void fm_metrics_text(struct fm_json *o, int pid, bool alone)
{
	FM_BLOCK_SIGNALS();
	if (alone) {
		fm_lock_reset(&lock);
		fm_stats_alone();
	}
	fm_lock(&lock);
	memset(&page, 0, sizeof(page));
	page.o = o;
	name_process(&page, pid);
	metrics_put_all(&page, alone);
	fm_unlock(&lock);
}

static void metrics_forked(void)
{
	fm_lock_reset(&lock);
}

FM_LIFE(metrics_text, .level = FM_LIFE_RUNNING, .forked = metrics_forked)

static void metrics(struct fm_request *r)
{
	fm_metrics_text(&r->answer, fm_sys_getpid(), false);
	if (r->answer.failed)
		fm_answer_error(r, "no memory");
}

FM_CONTROL(metrics, .word = "metrics", .args = "", .run = metrics,
	   .help = "the counts in the text format of Prometheus")
