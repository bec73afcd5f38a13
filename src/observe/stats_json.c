/* SPDX-License-Identifier: MIT */
/*
 * stats_json.c - the statistics as one JSON document. Also in the guardian,
 * when the program is dead: then no lock is taken, and nobody frees what is
 * read.
 */
#include <errno.h>
#include <string.h>

#include "advise/advise.h"
#include "base/epoch.h"
#include "base/json.h"
#include "base/life.h"
#include "base/lock.h"
#include "base/sys.h"
#include "base/text.h"
#include "cache/cache.h"
#include "engine.h"
#include "fault/fault.h"
#include "file/file.h"
#include "io/io.h"
#include "map/map.h"
#include "mmap/mmap.h"
#include "observe/version.h"
#include "policy.h"
#include "stats.h"
#include "stats_priv.h"
#include "warm/warm.h"

static void set_counters(struct fm_json *o, const struct fm_file_stats *st)
{
	for (unsigned i = 0; i < FM_STATS_FIELDS; i++)
		fm_json_uint(o, fm_stats_field_name(i), fm_stats_field(st, i));
	fm_json_milli(o, "hit_percent", fm_stats_hits(st));
	fm_json_milli(o, "read_amplification", fm_stats_amplification(st));
}

static const char *choice(const char *const *names, unsigned v)
{
	return names[v];
}

static void settings_json(struct fm_json *o)
{
	static const char *const modes[] = { "on", "observe", "off" };
	static const char *const faults[] = { "auto", "signal", "thread" };
	static const char *const summaries[] = { "auto", "yes", "no" };
	const struct fm_settings *s = fm_settings();

	fm_json_open(o, "settings", '{');
	fm_json_text(o, "mode", choice(modes, s->mode));
	fm_json_text(o, "faults", choice(faults, s->faults));
	fm_json_uint(o, "cache_bytes", fm_cache_bytes(&s->cache));
	fm_json_uint(o, "cache_percent", s->cache.percent);
	fm_json_bool(o, "cache_auto", s->cache.automatic);
	fm_json_bool(o, "lazy_auto", s->lazy == FM_SIZE_AUTO);
	fm_json_uint(o, "lazy_bytes", s->lazy == FM_SIZE_AUTO ? 0 : s->lazy);
	fm_json_bool(o, "strict", s->strict);
	fm_json_uint(o, "log", (uint64_t)s->log_level);
	fm_json_text(o, "summary", choice(summaries, s->summary));
	fm_json_bool(o, "guardian", s->guardian);
	fm_json_bool(o, "uring", s->uring);
	fm_json_uint(o, "rings", s->ring_limit);
	fm_json_uint(o, "null_store", s->null_store);
	fm_json_text(o, "metrics", s->metrics);
	fm_json_text(o, "trace", s->trace);
	fm_json_text(o, "trace_serve", s->trace_serve);
	fm_json_text(o, "warm_start", s->warm_dir);
	fm_json_text(o, "policy_file", s->source);
	fm_json_close(o, '}');
}

static void delivery_json(struct fm_json *o)
{
	const struct fm_uffd_caps *c = fm_uffd_caps();
	const char *how = "none", *why = fm_delivery_why();

	fm_json_open(o, "delivery", '{');
	if (fm_life_running())
		how = fm_delivery() == FM_DELIVERY_SIGNAL ? "signal" : "thread";
	else if (!strncmp(why, "not started", 11) && fm_unserved_any())
		why = "not started: every mapping was left to the kernel, "
		      "see left_to_kernel";
	fm_json_text(o, "how", how);
	fm_json_text(o, "why", why);
	fm_json_bool(o, "user_mode_only", c->user_only);
	fm_json_bool(o, "by_device", c->device);
	fm_json_bool(o, "move", c->move);
	fm_json_bool(o, "batch_drop", c->batch_drop);
	fm_json_uint(o, "features", c->features);
	fm_json_close(o, '}');
}

static void io_json(struct fm_json *o)
{
	struct fm_ring_stats r = { 0 };

	fm_json_open(o, "io", '{');
	if (fm_life_running())
		fm_ring_stats(&r);
	fm_json_bool(o, "uring", fm_life_running() && fm_rings_uring());
	fm_json_uint(o, "rings", r.rings);
	fm_json_uint(o, "ios", r.ios);
	fm_json_uint(o, "polled", fm_demand_polled());
	fm_json_uint(o, "batches", fm_demand_batches());
	fm_json_uint(o, "slept", r.slept);
	fm_json_close(o, '}');
}

static void cache_json(struct fm_json *o)
{
	fm_json_open(o, "cache", '{');
	fm_json_uint(o, "limit_bytes", fm_mem_monitor_target());
	fm_json_uint(o, "resident_bytes",
		     (uint64_t)fm_cache_resident() * FM_PAGE);
	fm_json_uint(o, "lazy_bytes", fm_lazyfree_pages() * FM_PAGE);
	fm_json_uint(o, "lazy_entries", fm_lazyfree_entries());
	fm_json_uint(o, "dirty_bytes",
		(uint64_t)atomic_load(&fm_dirty_total) * FM_PAGE);
	fm_json_uint(o, "evicted", fm_ghost_evicted());
	fm_json_uint(o, "came_back", fm_ghost_came_back());
	fm_json_uint(o, "left_since_set", fm_mem_monitor_left());
	fm_json_close(o, '}');
}

static void latency_json(struct fm_json *o)
{
	static struct fm_hist h;

	fm_json_open(o, "latency", '{');
	fm_hist_reset(&h);
	fm_latency_sum(&h);
	fm_json_uint(o, "count", fm_hist_count(&h));
	fm_json_milli(o, "p50_us", fm_hist_percentile(&h, 50000));
	fm_json_milli(o, "p90_us", fm_hist_percentile(&h, 90000));
	fm_json_milli(o, "p99_us", fm_hist_percentile(&h, 99000));
	fm_json_milli(o, "p99_9_us", fm_hist_percentile(&h, 99900));
	fm_json_milli(o, "max_us", fm_hist_max(&h));
	fm_json_close(o, '}');
}

/* 0x7f0012345000 */
static void set_address(struct fm_json *o, const char *key, uintptr_t a)
{
	char text[20] = "0x";
	int n = 2, shift = 60;

	while (shift && !(a >> shift))
		shift -= 4;
	for (; shift >= 0; shift -= 4)
		text[n++] = "0123456789abcdef"[a >> shift & 15];
	text[n] = 0;
	fm_json_text(o, key, text);
}

static void map_json(struct fm_json *o, struct fm_map *m)
{
	uintptr_t start = atomic_load(&m->start);
	int prot = atomic_load(&m->prot);
	const char text[5] = { prot & PROT_READ ? 'r' : '-',
			       prot & PROT_WRITE ? 'w' : '-',
			       prot & PROT_EXEC ? 'x' : '-',
			       m->shared ? 's' : 'p', 0 };

	fm_json_open(o, NULL, '{');
	set_address(o, "start", start);
	fm_json_uint(o, "len", atomic_load(&m->end) - start);
	fm_json_uint(o, "offset", m->pgoff << FM_PAGE_SHIFT);
	fm_json_text(o, "prot", text);
	/* Not "faults": sums over all keys of that name count the file's. */
	fm_json_uint(o, "taken", atomic_load(&m->faults));
	fm_json_close(o, '}');
}

static void stats_json_set_file(struct fm_json *o, const char *path, dev_t dev,
				ino_t ino, int64_t size, bool open)
{
	fm_json_text(o, "path", path);
	fm_json_uint(o, "device", dev);
	fm_json_uint(o, "inode", ino);
	fm_json_uint(o, "size", (uint64_t)size);
	fm_json_bool(o, "open", open);
}

/* `server`: of what is mapped from now on, or NULL: the file is closed. */
static void stats_json_put_server(struct fm_json *o, const char *server,
				  const struct fm_file_stats *st)
{
	const enum fm_server_reason why = atomic_load(&st->demote_why);

	fm_json_text(o, "server", server);
	fm_json_text(o, "demote_why", why ? fm_server_reason_text(why) : NULL);
}

struct resident {
	uint64_t pages, pinned;
	bool pins; /* the file's policy does: else no page is looked at */
};

static void count_resident(struct fm_map *m, uint64_t i, void *arg)
{
	struct resident *r = arg;

	if (!fm_mode_resident(fm_mode(m, i)))
		return;
	r->pages++;
	r->pinned += r->pins && fm_shares_pinned(m->file, m->pgoff + i);
}

static void resident_json(struct fm_json *o, struct fm_file *f)
{
	struct fm_shares_of s = fm_shares_of(f);
	struct resident r = { .pins = s.pins };
	struct fm_map *m;

	fm_for_each_map(m, f)
		fm_map_each(m, 0, fm_map_pages(m), count_resident, &r);
	fm_json_uint(o, "resident_bytes", r.pages * FM_PAGE);
	fm_json_uint(o, "cached_bytes", (uint64_t)fm_cache_of(f) * FM_PAGE);
	fm_json_uint(o, "cache_share_bytes", s.share * FM_PAGE);
	fm_json_uint(o, "cache_floor_bytes", s.floor * FM_PAGE);
	fm_json_uint(o, "pinned_bytes", r.pinned * FM_PAGE);
	fm_json_text(o, "priority", s.priority);
	fm_json_bool(o, "streams", s.streams);
}

static void device_json(struct fm_json *o, const struct fm_file *f)
{
	struct fm_device_figures d;

	fm_device_figures(f, &d);
	fm_json_uint(o, "read_ns", d.fixed);
	fm_json_uint(o, "page_ns", d.page);
	fm_json_uint(o, "among_read_ns", d.among_fixed);
	fm_json_uint(o, "among_page_ns", d.among_page);
	fm_json_text(o, "source", f->io->backing ? f->io->backing->text : NULL);
	fm_json_uint(o, "silent_ms", fm_kernel_serves(f) ?
				     fm_stats_silent_ms(f->dev, f->ino) :
				     fm_answers_silent_ms(f));
}

static const char *const eviction_names[] = {
#define FM_EVICTION(value, policy) #value,
#include "evictions.def"
};

/* Under an epoch, which keeps f and its mappings. */
static void file_json(struct fm_json *o, struct fm_file *f, bool alone)
{
	struct fm_map *m;
	bool advised;

	fm_json_open(o, NULL, '{');
	stats_json_set_file(o, f->path, f->dev, f->ino, atomic_load(&f->size),
			    true);
	fm_json_bool(o, "direct", fm_store_of(f)->direct);
	device_json(o, f);
	fm_json_bool(o, "sparse", f->load->sparse);
	fm_json_text(o, "eviction", eviction_names[f->policy->eviction]);
	fm_json_bool(o, "demoted", fm_kernel_serves(f));
	stats_json_put_server(o, fm_kernel_serves(f) ? "kernel" : "engine",
			      f->st);
	fm_stats_mapped(f->dev, f->ino, &advised);
	fm_json_bool(o, "advised", advised);
	fm_stats_served(o, &f->st->served, true);
	fm_stats_engine_trial(o, f);
	fm_stats_why(o, f, alone);
	resident_json(o, f);
	fm_json_uint(o, "dirty_bytes", (uint64_t)fm_dirty_count(f) * FM_PAGE);
	set_counters(o, f->st);
	fm_json_open(o, "maps", '[');
	fm_for_each_map(m, f)
		map_json(o, m);
	fm_json_close(o, ']');
	fm_json_close(o, '}');
}

static void stats_json_add_retired(const struct fm_retired *r, void *arg)
{
	struct fm_json *o = arg;

	fm_json_open(o, NULL, '{');
	stats_json_set_file(o, r->path, r->dev, r->ino, r->size, false);
	stats_json_put_server(o, NULL, &r->st);
	fm_stats_served(o, &r->st.served, true);
	set_counters(o, &r->st);
	fm_json_close(o, '}');
}

static uint64_t add_files(struct fm_json *o, struct fm_file_stats *sum,
			  bool alone)
{
	struct fm_file *f;
	uint64_t n = fm_stats_retired(sum, stats_json_add_retired, o);

	fm_for_each_file(f, id) {
		fm_stats_sum(sum, f->st);
		file_json(o, f, alone);
		n += !fm_stats_was_retired(f->dev, f->ino, f->born);
	}
	return n;
}

static void files_json(struct fm_json *o, bool alone, struct fm_file_stats *sum,
		       uint64_t *ret_n)
{
	unsigned slot = alone ? 0 : fm_epoch_enter();

	fm_json_open(o, "files", '[');
	*ret_n = add_files(o, sum, alone);
	fm_json_close(o, ']');
	fm_stats_heap(o, alone);
	if (!alone)
		fm_epoch_leave(slot);
}

/* Of what may not be advised by its policy nobody notes where it is. */
static void put_mapped(struct fm_json *o, const struct fm_unserved *l)
{
	bool advised;
	const bool mapped = fm_stats_mapped(l->of->dev, l->of->ino, &advised);

	if (mapped || (l->served.by == FM_BY_ADVISED && fm_krange_complete()))
		fm_json_bool(o, "mapped", mapped);
	else
		fm_json_text(o, "mapped", NULL);
	fm_json_bool(o, "advised", advised);
}

static void stats_json_add_left(const struct fm_unserved *l, void *arg)
{
	struct fm_json *o = arg;

	fm_json_open(o, NULL, '{');
	fm_json_text(o, "path", l->path);
	fm_json_uint(o, "device", l->of->dev);
	fm_json_uint(o, "inode", l->of->ino);
	fm_json_uint(o, "size", (uint64_t)l->size);
	/* Not "mappings": that counts the engine's. */
	fm_json_uint(o, "mmaps", l->mappings);
	fm_json_uint(o, "shared", l->shared);
	fm_json_uint(o, "writable", l->writable);
	fm_json_uint(o, "mapped_bytes", l->bytes);
	fm_json_uint(o, "largest_bytes", l->largest);
	put_mapped(o, l);
	fm_json_uint(o, "silent_ms",
		     fm_stats_silent_ms(l->of->dev, l->of->ino));
	fm_stats_served(o, &l->served, true);
	fm_stats_why_left(o, l);
	fm_json_open(o, "why", '[');
	for (unsigned i = 0; i < FM_LEFT_REASONS && l->reason[i].why; i++) {
		fm_json_open(o, NULL, '{');
		fm_json_text(o, "reason",
			     fm_server_reason_text(l->reason[i].why));
		fm_json_uint(o, "mmaps", l->reason[i].n);
		fm_json_close(o, '}');
	}
	fm_json_close(o, ']');
	fm_json_close(o, '}');
}

static void left_json(struct fm_json *o)
{
	uint64_t more;

	fm_json_open(o, "left_to_kernel", '[');
	more = fm_unserved_each(stats_json_add_left, o);
	fm_json_close(o, ']');
	fm_json_uint(o, "left_more_mmaps", more);
}

static void add_warm(const struct fm_warm_file *f, void *arg)
{
	struct fm_json *o = arg;

	fm_json_open(o, NULL, '{');
	fm_json_text(o, "path", f->path);
	fm_json_text(o, "outcome", fm_look_outcome_text(f->outcome));
	fm_json_uint(o, "hot_bytes", f->known * FM_PAGE);
	fm_json_uint(o, "brought_bytes", f->brought * FM_PAGE);
	fm_json_close(o, '}');
}

static void warm_json(struct fm_json *o)
{
	fm_json_open(o, "warm_start", '[');
	fm_warm_each(add_warm, o);
	fm_json_close(o, ']');
}

/* Sums over all files, closed ones included. "fault_kinds" would be counted
 * twice by whoever adds up the files, so the sums have names of their own. */
static void totals_json(struct fm_json *o, const struct fm_file_stats *sum,
			uint64_t files)
{
	char name[64];
	struct fm_served served;

	fm_json_open(o, "totals", '{');
	fm_json_uint(o, "files", files);
	fm_json_uint(o, "answered", fm_stats_faults(sum));
	for (unsigned i = 0; i < FM_STATS_FIELDS; i++) {
		fm_join(name, sizeof(name), "all_", fm_stats_field_name(i), "");
		fm_json_uint(o, name, fm_stats_field(sum, i));
	}
	fm_json_milli(o, "hit_percent", fm_stats_hits(sum));
	fm_json_milli(o, "read_amplification", fm_stats_amplification(sum));
	served = sum->served;
	fm_unserved_served(&served);
	fm_stats_served(o, &served, false);
	fm_json_close(o, '}');
}

/* The guardian's link shows the program's file: the memory is the same. */
static void set_program(struct fm_json *o, int pid)
{
	char exe[4096];
	long n = fm_sys_readlink("/proc/self/exe", exe, sizeof(exe) - 1);

	exe[n > 0 ? n : 0] = 0;
	fm_json_text(o, "program", exe);
	fm_json_uint(o, "pid", (uint64_t)pid);
}

static void set_version(struct fm_json *o)
{
	struct timespec t;

	fm_clock(CLOCK_REALTIME, &t);
	fm_json_uint(o, "schema", FM_STATS_SCHEMA);
	fm_json_text(o, "version", FM_VERSION);
	fm_json_milli(o, "time", (uint64_t)t.tv_sec * 1000 +
				 (uint64_t)t.tv_nsec / 1000000);
	fm_json_milli(o, "uptime", fm_stats_uptime_ms());
}

static void stats_json_document(struct fm_json *o, int pid, bool alone)
{
	struct fm_file_stats sum;
	uint64_t n;

	memset(&sum, 0, sizeof(sum));
	fm_stats_ranges(alone);
	fm_json_open(o, NULL, '{');
	set_version(o);
	set_program(o, pid);
	settings_json(o);
	delivery_json(o);
	io_json(o);
	cache_json(o);
	latency_json(o);
	files_json(o, alone, &sum, &n);
	totals_json(o, &sum, n);
	left_json(o);
	fm_stats_choice(o);
	warm_json(o);
	fm_stats_advice(o);
	fm_json_close(o, '}');
}

/* Exit and the control socket. */
static struct fm_lock lock = FM_LOCK(FM_RANK_REPORT);

void fm_stats_json_reset(void)
{
	fm_lock_reset(&lock);
}

int fm_stats_json(struct fm_json *ret, int pid, bool alone)
{
	uint64_t mask;

	memset(ret, 0, sizeof(*ret));
	fm_block_signals(&mask);
	fm_lock(&lock);
	stats_json_document(ret, pid, alone);
	fm_unlock(&lock);
	fm_restore_signals(&mask);
	if (!ret->failed && ret->len < ret->size)
		ret->text[ret->len++] = '\n';
	if (ret->failed)
		fm_json_free(ret);
	return ret->text ? 0 : -ENOMEM;
}
