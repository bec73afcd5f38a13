/* SPDX-License-Identifier: MIT */
/* wb_thread.c - background write-back, between the watermarks of the policy and
 * for what has been dirty for long. */
#include "wb_priv.h"

#include "base/epoch.h"
#include "base/event.h"
#include "base/life.h"
#include "base/lock.h"
#include "base/tables.h"
#include "base/thread.h"
#include "file/file.h"
#include "io/io.h"
#include "policy.h"
#include "tunables.h"


static _Atomic bool started;
static _Atomic uint32_t cursor; /* file to go on with */

/*
 * While many threads wait for reads, writes would only make them wait longer,
 * and what is dirty is written with fewer system calls the more of it there is.
 * A half of the cache must stay clean all the same: others may need memory at
 * once.
 */
static FM_FAULT uint32_t put_off(uint32_t percent)
{
	uint32_t high = fm_policy_default()->wb_high;

	return high < fm_tune.wb_later &&
			       fm_demand_waiting() >= 100 * fm_tune.wb_many ?
		       percent * fm_tune.wb_later / high :
		       percent;
}

/* What is written to make room alone is written when it leaves (cache.c). */
static FM_FAULT bool above(uint32_t percent)
{
	int64_t dirty = (atomic_load(&fm_dirty_total) -
			 atomic_load(&fm_dirty_heap)) * 100;
	int64_t limit = (int64_t)fm_cache_limit();
	uint32_t high = fm_policy_default()->wb_high;

	return dirty > limit * put_off(percent) &&
	       (!high || dirty / 100 > (int64_t)fm_wb_most() * percent / high);
}

FM_FAULT void fm_wb_check(void)
{
	if ((atomic_load_explicit(&fm_dirty_total, memory_order_relaxed) &
	     31) == 0 && fm_event_waited(&fm_wb_kicked) &&
	    above(fm_policy_default()->wb_high))
		fm_wb_kick();
}

/* A device that refuses is not asked again by each fault that wants room: msync
 * and the like ask always. */
static FM_FAULT bool is_recent(uint64_t ms)
{
	return ms && fm_now_ms() < ms + fm_tune.wb_again_ms;
}

bool fm_wb_refused(const struct fm_file *f)
{
	uint64_t ms = atomic_load(&f->failed->ms);

	return ms && fm_now_ms() < ms + FM_SECOND_MS;
}

FM_FAULT bool fm_wb_failing(void)
{
	return is_recent(atomic_load(&fm_wb_failed_ms));
}

/* Pages of the file in which so many dirty ones are looked for. */
static FM_FAULT uint64_t wb_thread_reach(unsigned most)
{
	return (uint64_t)most * (FM_SPAN / FM_WB_FEW);
}

static FM_FAULT uint64_t dirty_from(struct fm_file *f, uint64_t page)
{
	uint64_t first = fm_dirty_next(f, page, FM_MAX_FILE_PAGES);

	return first < FM_MAX_FILE_PAGES ?
		       first : fm_dirty_next(f, 0, FM_MAX_FILE_PAGES);
}

/* Threads that want room at once write in different places: else all but one
 * pass over pages that are being written, and wait for what they find between
 * those. Returns where to begin. */
static FM_FAULT uint64_t wb_thread_claim(struct fm_file *f,
					 _Atomic uint64_t *at, unsigned most)
{
	uint64_t was = atomic_load(at), from;

	do
		from = dirty_from(f, was);
	while (!atomic_compare_exchange_weak(at, &was,
					     from + wb_thread_reach(most)));
	return from;
}

/* Nobody else came meanwhile: go on with what is left. */
static FM_FAULT void wb_thread_release(struct fm_file *f, _Atomic uint64_t *at,
				       uint64_t from, unsigned most)
{
	uint64_t was = from + wb_thread_reach(most);

	atomic_compare_exchange_strong(
		at, &was, fm_dirty_next(f, from + 1, FM_MAX_FILE_PAGES));
}

static FM_FAULT unsigned write_file_some(uint32_t id, enum fm_wb_way way,
					 unsigned most)
{
	static _Atomic uint64_t ats[64]; /* where to go on, per file */
	_Atomic uint64_t *at = &ats[id % 64];
	unsigned e = fm_epoch_enter(), pages = 0;
	struct fm_file *f = fm_file_at(id);
	uint64_t from;

	if (f && fm_dirty_count(f) > 0 &&
	    !is_recent(atomic_load(&f->failed->ms))) {
		from = wb_thread_claim(f, at, most);
		fm_wb_some_of(f, from, FM_MAX_FILE_PAGES, way, most, &pages);
		wb_thread_release(f, at, from, most);
	}
	fm_epoch_leave(e);
	return pages;
}

/* For others, who need memory at once, the heap's file as well. */
static unsigned write_file_ahead(uint32_t id)
{
	FM_IN_EPOCH();
	struct fm_file *f = fm_file_at(id);

	return !f || (f->ephemeral && !fm_wb_urgent()) ?
		       0 : write_file_some(id, FM_WB_BACKGROUND, 2048);
}

FM_FAULT unsigned fm_wb_some(void)
{
	uint32_t top = fm_file_top();
	unsigned pages = 0;

	if (atomic_load(&fm_dirty_total) <= 0)
		return 0;
	fm_wb_tight();
	fm_wb_kick();
	for (uint32_t k = 0; k < top && !pages; k++)
		pages = write_file_some(atomic_fetch_add(&cursor, 1) % top,
					FM_WB_TRY, FM_WB_FEW);
	return pages;
}

static void flush_down(const struct fm_policy *p)
{
	int idle = 0;

	while ((fm_wb_urgent() || above(p->wb_low)) && idle < 3) {
		uint32_t top = fm_file_top();
		unsigned pages = 0;

		fm_thread_obey();
		for (uint32_t k = 0; k < top; k++)
			pages += write_file_ahead(k);
		fm_wb_conclude();
		fm_demote_queue_serve();
		idle = pages ? 0 : idle + 1;
	}
	if (idle) /* errors or contention: not in a tight loop */
		fm_sys_sleep_us(50000);
}

static void be_idle(void)
{
	FM_UP_EACH(wb_idle, idle)
		idle();
}

static void *flusher(void *arg)
{
	const struct fm_policy *p = arg;

	fm_thread_begin("fastmap-wb");
	fm_table_engine(); /* it lives as long as the engine */
	for (;;) {
		uint32_t seen = fm_event_seen(&fm_wb_kicked);

		fm_demote_queue_serve();
		be_idle();
		fm_wb_conclude();
		if (fm_wb_urgent() || above(p->wb_low)) {
			flush_down(p);
			continue;
		}
		fm_event_wait_alone(&fm_wb_kicked, seen, NULL);
	}
	return NULL;
}

static int wb_thread_start(void)
{
	const struct fm_policy *p = fm_policy_default();

	if (atomic_exchange(&started, true))
		return 0;
	fm_table_engine();
	return fm_thread_create(flusher, (void *)(uintptr_t)p);
}

static void wb_thread_reset(void)
{
	atomic_store(&started, false);
	fm_event_reset(&fm_wb_kicked);
	atomic_store(&fm_dirty_total, 0);
	atomic_store(&fm_dirty_heap, 0);
	fm_wb_runs_reset();
	fm_wb_most_reset();
}

static void wb_thread_look(struct fm_file *f, uint64_t now)
{
	const uint64_t since = atomic_load(&f->wb->dirty_since_ms);

	if (!since && fm_dirty_count(f) > 0)
		atomic_store(&f->wb->dirty_since_ms, now);
	if (!since || !f->policy->wb_interval_ms ||
	    now - since < f->policy->wb_interval_ms)
		return;
	atomic_store(&f->wb->dirty_since_ms, 0);
	fm_wb_ahead(f, false);
	if (fm_dirty_count(f))
		atomic_store(&f->wb->dirty_since_ms, now);
}

/* Files that have been dirty for longer than the interval. The heap's is only
 * written to make room. */
static void wb_thread_every_second(void)
{
	const uint64_t now = fm_now_ms();

	for (uint32_t id = 0; id < fm_file_top(); id++) {
		FM_IN_EPOCH();
		struct fm_file *f = fm_file_at(id);

		if (f && !f->ephemeral)
			wb_thread_look(f, now);
	}
}

FM_LIFE(wb_thread, .level = FM_LIFE_RUNNING, .start = wb_thread_start,
	.reset = wb_thread_reset, .second = wb_thread_every_second)
