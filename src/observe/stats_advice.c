/* SPDX-License-Identifier: MIT */
/* stats_advice.c - the statistics of what the kernel serves with our advice. */
#include "advise/advise.h"
#include "base/json.h"
#include "base/sys.h"
#include "file/file.h"
#include "map/map.h"
#include "stats_priv.h"

#define MOST 64 /* size: of the ranges, whose files are named */

/* Under the lock of the report. */
static struct fm_krange ranges[FM_KRANGES];
static unsigned n_ranges;
static struct {
	uint64_t ms;
	bool any; /* of the ranges is not all in memory */
} waited;

/* Where mincore(2) does not tell all is. */
static bool stats_advice_may_wait(const struct fm_krange *r)
{
	const uint64_t n = (r->end - r->start) >> FM_PAGE_SHIFT;

	return fm_pages_in_memory(r->start, n, false) < n;
}

static void look_at_who_waits(void)
{
	fm_waiters_look();
	waited.ms = fm_waiters_ms();
	for (unsigned i = 0; waited.ms && !waited.any && i < n_ranges; i++)
		waited.any = stats_advice_may_wait(&ranges[i]);
}

void fm_stats_ranges(bool alone)
{
	waited.ms = 0;
	waited.any = false;
	n_ranges = alone ? fm_krange_list_dead(ranges, FM_KRANGES) :
			   fm_krange_list(NULL, ranges, FM_KRANGES);
	if (n_ranges && !alone)
		look_at_who_waits();
}

uint64_t fm_stats_silent_ms(dev_t dev, ino_t ino)
{
	for (unsigned i = 0; waited.ms && i < n_ranges; i++)
		if (ranges[i].ino == ino && ranges[i].dev == dev &&
		    (!waited.any || stats_advice_may_wait(&ranges[i])))
			return waited.ms;
	return 0;
}

bool fm_stats_mapped(dev_t dev, ino_t ino, bool *ret_advised)
{
	bool any = false;

	*ret_advised = false;
	for (unsigned i = 0; i < n_ranges; i++)
		if (ranges[i].ino == ino && ranges[i].dev == dev) {
			any = true;
			*ret_advised |= fm_krange_may_advise(&ranges[i]);
		}
	return any;
}

static bool stats_advice_same_file(const struct fm_krange *a,
				   const struct fm_krange *b)
{
	return a->ino == b->ino && a->dev == b->dev;
}

/* The paths are in left_to_kernel, or in files. */
static void range_json(struct fm_json *o, const struct fm_krange *r)
{
	fm_json_open(o, NULL, '{');
	fm_json_uint(o, "device", r->dev);
	fm_json_uint(o, "inode", r->ino);
	fm_json_uint(o, "since_ms", fm_now_ms() - r->since_ms);
	fm_json_text(o, "why", fm_server_reason_text(r->why));
	fm_json_text(o, "by", r->handed ? "handed over" : "mmap");
	fm_json_bool(o, "advised", fm_krange_may_advise(r));
	fm_json_close(o, '}');
}

/* Each file once, as its first range is. */
static void stats_advice_files_json(struct fm_json *o, unsigned n)
{
	fm_json_open(o, "kernel_files", '[');
	for (unsigned i = 0, k; i < n && i < MOST; i++) {
		for (k = 0;
		     k < i && !stats_advice_same_file(&ranges[k], &ranges[i]);
		     k++)
			;
		if (k == i)
			range_json(o, &ranges[i]);
	}
	fm_json_close(o, ']');
}

void fm_stats_advice(struct fm_json *o)
{
	struct fm_advise_counts *c = &fm_advise_counts;
	const unsigned n = n_ranges;
	uint64_t bytes = 0;

	for (unsigned i = 0; i < n; i++)
		if (fm_krange_may_advise(&ranges[i]))
			bytes += ranges[i].end - ranges[i].start;
	fm_json_open(o, "advice", '{');
	fm_json_text(o, "source", fm_helper_source());
	fm_json_uint(o, "ranges", n);
	fm_json_uint(o, "advised_bytes", bytes);
	fm_json_uint(o, "random_bytes", atomic_load(&c->random_bytes));
	fm_json_uint(o, "huge_bytes", atomic_load(&c->huge_bytes));
	fm_json_uint(o, "changes", atomic_load(&c->changes));
	fm_json_uint(o, "looks", atomic_load(&c->looks));
	fm_json_uint(o, "touches", atomic_load(&c->touches));
	fm_json_uint(o, "cpu_us", atomic_load(&c->cpu_us));
	fm_json_uint(o, "ahead_bytes", atomic_load(&fm_streams_counts.bytes));
	fm_json_uint(o, "cold_bytes",
		     atomic_load(&fm_streams_counts.cold_bytes));
	fm_json_uint(o, "ahead_cpu_us", atomic_load(&fm_streams_counts.cpu_us));
	stats_advice_files_json(o, n);
	fm_json_close(o, '}');
}
