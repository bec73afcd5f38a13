/* SPDX-License-Identifier: MIT */
/* stats_json.c - the statistics as one JSON document. */
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#include "alloc.h"
#include "cache.h"
#include "demand.h"
#include "engine.h"
#include "engine_priv.h"
#include "epoch.h"
#include "file.h"
#include "lazy.h"
#include "left.h"
#include "lock.h"
#include "policy.h"
#include "ring.h"
#include "stats.h"
#include "stats_priv.h"
#include "sys.h"
#include "uffd.h"

#define FIELD(m) { #m, offsetof(struct fm_file_stats, m) }
static const struct {
	const char *name;
	size_t offset;
} fields[] = {
	FIELD(faults_read), FIELD(faults_write), FIELD(faults_wp),
	FIELD(loads),	    FIELD(load_bytes),	 FIELD(hits_ahead),
	FIELD(hits_alias),  FIELD(hits_standby), FIELD(hits_kept),
	FIELD(rewritten),
	FIELD(lazy), FIELD(lazy_lost),
	FIELD(evictions),   FIELD(collapsed),
	FIELD(writebacks),  FIELD(wb_bytes),	 FIELD(wb_errors),
	FIELD(ahead_pages), FIELD(ahead_waste),	 FIELD(read_errors),
	FIELD(mappings),    FIELD(demotions),
};
#define FIELDS (sizeof(fields) / sizeof(fields[0]))

static _Atomic uint64_t *field(const struct fm_file_stats *st, size_t i)
{
	return (_Atomic uint64_t *)((char *)(uintptr_t)st + fields[i].offset);
}

void fm_stats_sum(struct fm_file_stats *to, const struct fm_file_stats *from)
{
	for (size_t i = 0; i < FIELDS; i++)
		atomic_fetch_add(field(to, i), atomic_load(field(from, i)));
}

static json_int_t count(uint64_t v)
{
	return (json_int_t)v;
}

static void set_int(json_t *o, const char *key, uint64_t v)
{
	json_object_set_new(o, key, json_integer(count(v)));
}

static void set_bool(json_t *o, const char *key, bool v)
{
	json_object_set_new(o, key, json_boolean(v));
}

/* File names are bytes, JSON is UTF-8: what is not becomes '?'. */
static void set_text(json_t *o, const char *key, const char *s)
{
	json_t *v = s ? json_string(s) : json_null();
	char plain[512];
	size_t n = 0;

	if (!v) {
		for (; s[n] && n < sizeof(plain) - 1; n++)
			plain[n] = (unsigned char)s[n] < 0x80 ? s[n] : '?';
		plain[n] = 0;
		v = json_string(plain);
	}
	json_object_set_new(o, key, v);
}

static void set_us(json_t *o, const char *key, uint64_t ns)
{
	json_object_set_new(o, key, json_real((double)ns / 1000));
}

static void set_counters(json_t *o, const struct fm_file_stats *st)
{
	for (size_t i = 0; i < FIELDS; i++)
		set_int(o, fields[i].name, atomic_load(field(st, i)));
}

static const char *choice(const char *const *names, unsigned v)
{
	return names[v];
}

static json_t *settings_json(void)
{
	static const char *const modes[] = { "on", "observe", "off" };
	static const char *const faults[] = { "auto", "signal", "thread" };
	const struct fm_settings *s = fm_settings();
	json_t *o = json_object();

	set_text(o, "mode", choice(modes, s->mode));
	set_text(o, "faults", choice(faults, s->faults));
	set_int(o, "cache_bytes", s->cache.bytes);
	set_int(o, "cache_percent", s->cache.percent);
	set_bool(o, "cache_auto", s->cache.automatic);
	if (s->lazy != FM_SIZE_AUTO)
		set_int(o, "lazy_bytes", s->lazy);
	set_bool(o, "strict", s->strict);
	set_int(o, "log", (uint64_t)s->log_level);
	set_bool(o, "guardian", s->guardian);
	set_bool(o, "uring", s->uring);
	set_int(o, "rings", s->ring_limit);
	set_int(o, "null_store", s->null_store);
	set_text(o, "trace", s->trace);
	set_text(o, "policy_file", s->source);
	return o;
}

static json_t *delivery_json(void)
{
	const struct fm_uffd_caps *c = fm_uffd_caps();
	const char *how = "none", *why = fm_delivery_why();
	json_t *o = json_object();

	if (fm_engine_running())
		how = fm_delivery() == FM_DELIVERY_SIGNAL ? "signal" : "thread";
	else if (!strncmp(why, "not started", 11) && fm_left_any())
		why = "not started: every mapping was left to the kernel, "
		      "see left_to_kernel";
	set_text(o, "how", how);
	set_text(o, "why", why);
	set_bool(o, "user_mode_only", c->user_only);
	set_bool(o, "by_device", c->device);
	set_bool(o, "move", c->move);
	set_bool(o, "batch_drop", c->batch_drop);
	set_int(o, "features", c->features);
	return o;
}

static json_t *io_json(void)
{
	struct fm_ring_stats r = { 0 };
	json_t *o = json_object();

	if (fm_engine_running())
		fm_ring_stats(&r);
	set_bool(o, "uring", fm_engine_running() && fm_rings_uring());
	set_int(o, "rings", r.rings);
	set_int(o, "ios", r.ios);
	set_int(o, "polled", fm_demand_polled());
	set_int(o, "batches", fm_demand_batches());
	set_int(o, "slept", r.slept);
	set_int(o, "max_depth", r.max_depth);
	return o;
}

static json_t *cache_json(void)
{
	json_t *o = json_object();

	set_int(o, "limit_bytes", fm_cache_limit() * FM_PAGE);
	set_int(o, "resident_bytes", (uint64_t)fm_cache_resident() * FM_PAGE);
	set_int(o, "lazy_bytes", fm_lazy_pages() * FM_PAGE);
	set_int(o, "dirty_bytes",
		(uint64_t)atomic_load(&fm_dirty_total) * FM_PAGE);
	return o;
}

static json_t *latency_json(void)
{
	static struct fm_hist h;
	json_t *o = json_object();

	fm_hist_reset(&h);
	fm_stats_latency(&h);
	set_int(o, "count", fm_hist_count(&h));
	set_us(o, "p50_us", fm_hist_percentile(&h, 50000));
	set_us(o, "p90_us", fm_hist_percentile(&h, 90000));
	set_us(o, "p99_us", fm_hist_percentile(&h, 99000));
	set_us(o, "p999_us", fm_hist_percentile(&h, 99900));
	set_us(o, "max_us", fm_hist_max(&h));
	return o;
}

static json_t *map_json(struct fm_map *m)
{
	json_t *o = json_object();
	uintptr_t start = atomic_load(&m->start);
	char text[32];
	int prot = atomic_load(&m->prot);

	snprintf(text, sizeof(text), "0x%lx", (unsigned long)start);
	set_text(o, "start", text);
	set_int(o, "len", atomic_load(&m->end) - start);
	set_int(o, "offset", m->pgoff << FM_PAGE_SHIFT);
	snprintf(text, sizeof(text), "%c%c%c%c", prot & PROT_READ ? 'r' : '-',
		 prot & PROT_WRITE ? 'w' : '-', prot & PROT_EXEC ? 'x' : '-',
		 m->shared ? 's' : 'p');
	set_text(o, "prot", text);
	/* Not "faults": sums over all keys of that name count the file's. */
	set_int(o, "taken", atomic_load(&m->faults));
	return o;
}

/* Under an epoch, which keeps f and its mappings. */
static json_t *file_json(struct fm_file *f)
{
	json_t *o = json_object(), *maps = json_array();
	struct fm_map *m = atomic_load(&f->maps);

	set_text(o, "path", f->path);
	set_int(o, "device", f->dev);
	set_int(o, "inode", f->ino);
	set_int(o, "size", (uint64_t)atomic_load(&f->size));
	set_bool(o, "open", true);
	set_bool(o, "direct", f->direct);
	set_bool(o, "sparse", f->sparse);
	set_bool(o, "demoted", atomic_load(&f->demoted));
	set_text(o, "demote_why", atomic_load(&f->st.demote_why));
	set_int(o, "resident_bytes",
		(uint64_t)atomic_load(&f->resident) * FM_PAGE);
	set_int(o, "dirty_bytes", (uint64_t)fm_dirty_count(f) * FM_PAGE);
	set_counters(o, &f->st);
	for (; m; m = atomic_load(&m->file_next))
		json_array_append_new(maps, map_json(m));
	json_object_set_new(o, "maps", maps);
	return o;
}

static void add_retired(const struct fm_retired *r, void *arg)
{
	json_t *o = json_object();

	set_text(o, "path", r->path);
	set_int(o, "device", r->dev);
	set_int(o, "inode", r->ino);
	set_int(o, "size", (uint64_t)r->size);
	set_bool(o, "open", false);
	set_text(o, "demote_why", atomic_load(&r->st.demote_why));
	set_counters(o, &r->st);
	json_array_append_new(arg, o);
}

static uint64_t add_files(json_t *files, struct fm_file_stats *sum)
{
	uint64_t n = fm_stats_retired(sum, add_retired, files);
	unsigned slot = fm_epoch_enter();

	for (uint32_t i = 0; i < fm_file_top(); i++) {
		struct fm_file *f = fm_file_at(i);

		if (!f)
			continue;
		fm_stats_sum(sum, &f->st);
		json_array_append_new(files, file_json(f));
		n++;
	}
	fm_epoch_leave(slot);
	return n;
}

static void add_left(const struct fm_left *l, void *arg)
{
	json_t *o = json_object(), *why = json_object();

	set_text(o, "path", l->path);
	set_int(o, "device", l->dev);
	set_int(o, "inode", l->ino);
	set_int(o, "size", (uint64_t)l->size);
	/* Not "mappings": that counts the engine's. */
	set_int(o, "mmaps", l->mappings);
	set_int(o, "shared", l->shared);
	set_int(o, "writable", l->writable);
	set_int(o, "mapped_bytes", l->bytes);
	set_int(o, "largest_bytes", l->largest);
	for (unsigned i = 0; i < FM_LEFT_REASONS && l->reason[i].why; i++)
		set_int(why, fm_why_text(l->reason[i].why), l->reason[i].n);
	json_object_set_new(o, "why", why);
	json_array_append_new(arg, o);
}

/* Sums over all files, closed ones included. "fault_kinds" would be counted
 * twice by whoever adds up the files, so the sums have names of their own. */
static json_t *totals_json(const struct fm_file_stats *sum, uint64_t files)
{
	json_t *o = json_object();
	char name[64];

	set_int(o, "files", files);
	for (size_t i = 0; i < FIELDS; i++) {
		snprintf(name, sizeof(name), "all_%s", fields[i].name);
		set_int(o, name, atomic_load(field(sum, i)));
	}
	return o;
}

static void set_program(json_t *o)
{
	char exe[4096];
	long n = fm_sys3(SYS_readlink, "/proc/self/exe", exe, sizeof(exe) - 1);

	exe[n > 0 ? n : 0] = 0;
	set_text(o, "program", exe);
	set_int(o, "pid", (uint64_t)fm_sys_getpid());
}

static json_t *document(void)
{
	struct fm_file_stats sum;
	json_t *o = json_object(), *files = json_array();
	json_t *left = json_array();
	uint64_t n, more;

	memset(&sum, 0, sizeof(sum));
	n = add_files(files, &sum);
	set_program(o);
	json_object_set_new(o, "settings", settings_json());
	json_object_set_new(o, "delivery", delivery_json());
	json_object_set_new(o, "io", io_json());
	json_object_set_new(o, "cache", cache_json());
	json_object_set_new(o, "latency", latency_json());
	json_object_set_new(o, "totals", totals_json(&sum, n));
	json_object_set_new(o, "files", files);
	more = fm_left_each(add_left, left);
	json_object_set_new(o, "left_to_kernel", left);
	if (more)
		set_int(o, "left_more_mmaps", more);
	return o;
}

static char *print(void)
{
	json_t *o;
	char *text;

	/* Nothing of ours may come from the program's allocator. */
	json_set_alloc_funcs(fm_alloc, fm_free);
	json_object_seed(1); /* else it opens /dev/urandom */
	o = document();
	text = json_dumps(o, JSON_INDENT(1) | JSON_REAL_PRECISION(6));
	json_decref(o);
	return text;
}

/* Exit and the control socket. */
static struct fm_lock lock = FM_LOCK(FM_RANK_REPORT);

void fm_stats_json_reset(void)
{
	fm_lock_reset(&lock);
}

char *fm_stats_json(size_t *ret_len)
{
	uint64_t mask;
	char *text;

	fm_block_signals(&mask);
	fm_lock(&lock);
	text = print();
	fm_unlock(&lock);
	fm_restore_signals(&mask);
	if (!text)
		return NULL;
	*ret_len = strlen(text);
	text[(*ret_len)++] = '\n'; /* in place of the terminator */
	return text;
}
