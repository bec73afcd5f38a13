/* SPDX-License-Identifier: MIT */
/*
 * serve_trace.c - a record of who serves what, and how that goes: a line of
 * numbers for each file and second, for benches/servesim. The columns are those
 * of serve_trace.def; the first line has their names.
 *
 * In a thread with descriptors of its own. It asks nobody to wait, and only
 * what everybody may ask: what it costs is not in the record.
 */
#include <sys/resource.h>

#include "advise/advise.h"
#include "base/alloc.h"
#include "base/json.h"
#include "base/life.h"
#include "base/log.h"
#include "base/new_file.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/thread.h"
#include "cache/cache.h"
#include "engine.h"
#include "fault/fault.h"
#include "file/file.h"
#include "io/io.h"
#include "map/map.h"
#include "memory.h"
#include "mmap/mmap.h"
#include "policy.h"
#include "stats_priv.h"

#define FILES 16u    /* of a process that are recorded */
#define SAMPLES 512u /* size: pages of a file that are looked at: 0.2 ms */

enum column {
#define FM_SERVE_COLUMN(name, text) C_##name,
#include "serve_trace.def"
#undef FM_SERVE_COLUMN
	COLUMNS
};

static const char *const names[COLUMNS] = {
#define FM_SERVE_COLUMN(name, text) #name,
#include "serve_trace.def"
#undef FM_SERVE_COLUMN
};

/* A file that is mapped, and the pages of it that were there at the last look:
 * of its first range in order of address, until that is another. */
struct seen {
	dev_t dev;
	ino_t ino;
	uintptr_t start;
	uint64_t pages, pgoff, mapped;
	const struct fm_policy *policy; /* of a range of the kernel's */
	uint64_t sampled_of; /* `pages` of the sample */
	uintptr_t sampled_at;
	struct fm_page_sample sample;
};

static struct seen files[FILES];
static unsigned nfiles;
static _Atomic bool runs;
static int out = -1;
static _Atomic int failed;

/* ---- which files -------------------------------------------------------- */

static struct seen *seen(dev_t dev, ino_t ino)
{
	for (unsigned i = 0; i < nfiles; i++)
		if (files[i].ino == ino && files[i].dev == dev)
			return &files[i];
	if (nfiles == FILES)
		return NULL;
	files[nfiles] = (struct seen){ .dev = dev, .ino = ino };
	return &files[nfiles++];
}

static void range(dev_t dev, ino_t ino, uintptr_t start, uintptr_t end,
		  uint64_t pgoff)
{
	struct seen *s = seen(dev, ino);

	if (!s)
		return;
	if (!s->mapped || start < s->start) {
		s->start = start;
		s->pages = (end - start) >> FM_PAGE_SHIFT;
		s->pgoff = pgoff;
	}
	s->mapped += end - start;
}

static void ranges_of_engine(void)
{
	struct fm_file *f;
	struct fm_map *m;

	FM_HOLD_SPACE();
	fm_for_each_file(f, id)
		fm_for_each_map(m, f)
			range(f->dev, f->ino, atomic_load(&m->start),
			      atomic_load(&m->end), m->pgoff);
}

static void range_of_kernel(const struct fm_krange *r)
{
	struct seen *s = seen(r->dev, r->ino);

	if (s)
		s->policy = r->policy;
	range(r->dev, r->ino, r->start, r->end, r->pgoff);
}

static void ranges_of_kernel(void)
{
	struct fm_krange_all all;

	if (fm_krange_all(NULL, &all))
		return;
	for (unsigned i = 0; i < all.n; i++)
		range_of_kernel(&all.at[i]);
	fm_free(all.at);
}

static void look_for_files(void)
{
	for (unsigned i = 0; i < nfiles; i++) {
		files[i].mapped = 0;
		files[i].policy = NULL;
	}
	ranges_of_engine();
	ranges_of_kernel();
}

/* ---- what is there ------------------------------------------------------- */

static void serve_trace_sample(struct seen *s, uint64_t size, uint64_t *line)
{
	const uint64_t pages = fm_pages_within(s->start, s->start +
			(s->pages << FM_PAGE_SHIFT), s->pgoff, size);
	const bool again = s->sampled_of == pages && s->sampled_at == s->start;

	fm_page_sample_look(&s->sample, s->start, pages, SAMPLES, again);
	line[C_sampled] = s->sample.n;
	line[C_missing] = s->sample.missing;
	line[C_came] = s->sample.came;
	s->sampled_of = pages;
	s->sampled_at = s->start;
}

/* ---- a line -------------------------------------------------------------- */

static void of_process(uint64_t *line)
{
	struct rusage r = { 0 };

	fm_sys2(SYS_getrusage, RUSAGE_SELF, &r);
	line[C_ms] = fm_now_ms();
	line[C_cpu_ms] = (uint64_t)(r.ru_utime.tv_sec + r.ru_stime.tv_sec) *
			 1000 +
		(uint64_t)(r.ru_utime.tv_usec + r.ru_stime.tv_usec) / 1000;
	line[C_minor] = (uint64_t)r.ru_minflt;
	line[C_major] = (uint64_t)r.ru_majflt;
	line[C_read_bytes] = (uint64_t)r.ru_inblock * 512;
	line[C_memory] = fm_memory_limit();
	line[C_left] = fm_memory_left("");
	if (!fm_life_running())
		return;
	line[C_limit] = fm_mem_monitor_target();
	line[C_cached] = (uint64_t)fm_cache_resident() * FM_PAGE;
}

static void of_stats(const struct fm_file_stats *st, uint64_t *line)
{
	struct fm_served s;

	fm_served_read(&st->served, &s);
	line[C_server] = s.by;
	line[C_changes] = s.changes;
	line[C_why] = atomic_load(&st->demote_why);
	line[C_maps] += atomic_load(&st->mappings);
	line[C_faults] = atomic_load(&st->faults_read) +
			 atomic_load(&st->faults_write) +
			 atomic_load(&st->faults_wp);
	line[C_spent] = atomic_load(&st->spent_ns);
	line[C_loads] = atomic_load(&st->loads);
	line[C_load_bytes] = atomic_load(&st->load_bytes);
	line[C_written] = atomic_load(&st->wb_bytes);
	line[C_rewritten] = atomic_load(&st->rewritten);
}

static void of_device(const struct fm_file *f, uint64_t *line)
{
	struct fm_device_figures d;

	if (!f->io->device)
		return;
	fm_device_figures(f, &d);
	line[C_read_ns] = d.fixed;
	line[C_page_ns] = d.page;
	line[C_reads] = d.reads;
	line[C_among_read_ns] = d.among_fixed;
	line[C_among_page_ns] = d.among_page;
	line[C_among_reads] = d.among_reads;
}

/* What the kernel has been left of it; a file that the engine has, too, is
 * counted there. */
static void of_unserved(const struct fm_unserved *l, void *arg)
{
	uint64_t *line = arg;

	if (l->of->ino != line[C_inode] || l->of->dev != line[C_device])
		return;
	line[C_maps] += l->mappings;
	line[C_size] = (uint64_t)l->size;
	if (line[C_server])
		return;
	line[C_server] = l->served.by;
	line[C_why] = l->reason[0].why;
	line[C_changes] = l->served.changes;
}

/* A child of fork has not mapped it, and knows what its parent left. */
static void serve_trace_of_range(const struct seen *s, uint64_t *line)
{
	if (!line[C_size])
		line[C_size] = (s->pgoff + s->pages) << FM_PAGE_SHIFT;
	if (!line[C_server] && s->policy)
		line[C_server] = fm_served_beside_engine(s->policy);
}

static void of_file(struct seen *s, uint64_t *line)
{
	struct fm_file *f = fm_file_find(s->dev, s->ino);

	line[C_device] = s->dev;
	line[C_inode] = s->ino;
	line[C_mapped] = s->mapped;
	if (f) {
		of_stats(f->st, line);
		of_device(f, line);
	}
	fm_unserved_each(of_unserved, line);
	if (f) {
		line[C_size] = (uint64_t)fm_file_size(f);
		fm_file_put(f);
	}
	serve_trace_of_range(s, line);
	if (!fm_sys_confined())
		serve_trace_sample(s, line[C_size], line);
}

static void write_line(struct fm_json *o, const uint64_t *line)
{
	for (unsigned i = 0; i < COLUMNS; i++) {
		fm_json_raw(o, i ? " " : "");
		fm_json_raw_uint(o, line[i]);
	}
	fm_json_raw(o, "\n");
}

static void write_names(struct fm_json *o)
{
	fm_json_raw(o, "#");
	for (unsigned i = 0; i < COLUMNS; i++) {
		fm_json_raw(o, " ");
		fm_json_raw(o, names[i]);
	}
	fm_json_raw(o, "\n");
}

static void serve_trace_look(struct fm_json *o)
{
	look_for_files();
	for (unsigned i = 0; i < nfiles; i++) {
		uint64_t line[COLUMNS] = { 0 };

		if (!files[i].mapped)
			continue;
		of_process(line);
		of_file(&files[i], line);
		write_line(o, line);
	}
}

/* ---- the thread ---------------------------------------------------------- */

static int open_file(void)
{
	const char *where = fm_settings()->trace_serve;
	const int pid = fm_sys_getpid();
	struct fm_new_file n;
	char path[4000];
	int err;

	if (fm_stats_path(where, pid, path, sizeof(path)))
		return -ENAMETOOLONG;
	err = fm_new_file_begin(&n, path, pid);
	if (!err)
		err = fm_new_file_name(&n, path);
	out = n.fd;
	return err;
}

static int serve_trace_write_out(struct fm_json *o)
{
	const int err = o->failed ? -ENOMEM :
				    fm_sys_write_all(out, o->text, o->len);

	fm_json_free(o);
	*o = (struct fm_json){ 0 };
	return err;
}

static void *serve_trace_record(void *arg)
{
	static struct fm_kept_files kept; /* what memory is read from */
	struct fm_json o = { 0 };
	int err;

	fm_thread_begin("fastmap-record");
	fm_read_keep(&kept);
	err = open_file();
	for (write_names(&o); !err;
	     fm_thread_sleep_ms(FM_SECOND_MS)) {
		serve_trace_look(&o);
		err = serve_trace_write_out(&o);
	}
	atomic_store(&failed, err);
	return NULL;
}

static int serve_trace_start(void)
{
	if (!fm_settings()->trace_serve || atomic_exchange(&runs, true))
		return 0;
	return fm_thread_create(serve_trace_record, NULL);
}

static void serve_trace_beside(void)
{
	serve_trace_start();
}

static void serve_trace_say(void)
{
	const int err = atomic_exchange(&failed, 0);

	if (err)
		fm_log(FM_LOG_WARN, "cannot record who serves what in %s "
		       "(errno %d: %s): is its folder there, and may this user "
		       "write there?", fm_settings()->trace_serve, -err,
		       fm_error_text(-err));
}

/* A child has a file of its own. */
static void serve_trace_forked(void)
{
	atomic_store(&runs, false);
	nfiles = 0;
}

FM_LIFE(serve_trace, .level = FM_LIFE_RUNNING, .start = serve_trace_start,
	.beside = serve_trace_beside, .second = serve_trace_say,
	.forked = serve_trace_forked)
