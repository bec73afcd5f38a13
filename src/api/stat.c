/* SPDX-License-Identifier: MIT */
/* stat.c - numbers for the program, of all files together. */
#include <errno.h>
#include <string.h>

#include "advise/advise.h"
#include "api.h"
#include "base/epoch.h"
#include "base/life.h"
#include "base/ticket.h"
#include "cache/cache.h"
#include "engine.h"
#include "file/file.h"
#include "observe/observe.h"
#include "serve/serve.h"

static uint64_t stat_count(_Atomic uint64_t *n)
{
	return atomic_load_explicit(n, memory_order_relaxed);
}

static void stat_add_counts(struct fastmap_stat *s, struct fm_file_stats *st)
{
	s->faults += stat_count(&st->faults_read) +
		     stat_count(&st->faults_write) +
		     stat_count(&st->faults_wp);
	s->answered += fm_stats_faults(st);
	s->reads += stat_count(&st->loads);
	s->read_bytes += stat_count(&st->load_bytes);
	s->ahead_pages += stat_count(&st->ahead_pages);
	s->ahead_waste += stat_count(&st->ahead_waste);
	s->ahead_refused += stat_count(&st->ahead_refused);
	s->evicted_pages += stat_count(&st->evictions);
	s->written_bytes += stat_count(&st->wb_bytes);
	s->write_errors += stat_count(&st->wb_errors);
}

static void stat_add_open(struct fastmap_stat *s)
{
	const unsigned slot = fm_epoch_enter();
	struct fm_file *f;

	fm_for_each_file(f, id) {
		stat_add_counts(s, f->st);
		s->kernel_files += fm_kernel_serves(f);
		s->engine_files += !fm_kernel_serves(f) &&
				   atomic_load(&f->maps) != NULL;
	}
	fm_epoch_leave(slot);
}

/* What has been closed is counted there. */
static void stat_add_closed(struct fastmap_stat *s)
{
	struct fm_file_stats sum;

	memset(&sum, 0, sizeof(sum));
	fm_stats_closed(&sum);
	stat_add_counts(s, &sum);
}

/* What the kernel serves, and counts itself. */
static void stat_add_kernels(struct fastmap_stat *s)
{
	struct fm_totals t = { 0 };

	fm_totals_of_kernel(&t);
	s->kernel_bytes = fm_krange_bytes();
	s->kernel_asked = fm_asked_bytes();
	s->major_faults = t.major;
}

int fm_api_stat(struct fastmap_stat *ret, size_t size)
{
	struct fastmap_stat s = { 0 };

	if (size < sizeof(s.size))
		return -EINVAL;
	s.size = fm_least(size, sizeof(s));
	if (fm_life_running())
		s.cache_limit = fm_cache_limit() << FM_PAGE_SHIFT;
	s.cache_resident = (uint64_t)fm_cache_resident() << FM_PAGE_SHIFT;
	s.dirty = (uint64_t)atomic_load(&fm_dirty_total) << FM_PAGE_SHIFT;
	s.tickets = fm_ticket_count();
	stat_add_open(&s);
	stat_add_closed(&s);
	stat_add_kernels(&s);
	memset(ret, 0, size);
	memcpy(ret, &s, s.size);
	return 0;
}
