/* SPDX-License-Identifier: MIT */
#include "collapse.h"

#include <errno.h>
#include <sys/resource.h>

#include "base/epoch.h"
#include "base/event.h"
#include "base/life.h"
#include "base/lock.h"
#include "base/thread.h"
#include "cache.h"
#include "file/file.h"
#include "frame.h"
#include "huge.h"
#include "map/map.h"
#include "tunables.h"

static struct fm_event work;
static _Atomic bool look; /* at all mappings, whether it settled or not */
static _Atomic int64_t seen_resident;
static bool collapsing;
/* No huge page was to be had: tried again after 1, 2, 4, ... seconds; where a
 * file was changing after one. */
static _Atomic unsigned patience, waited;

/* Nothing has to leave, now or soon. */
static bool roomy(void)
{
	int64_t limit = (int64_t)fm_cache_limit();

	/* A huge page is bought before the small ones go. */
	return limit - fm_cache_resident() >
	       limit / fm_tune.evictor_free + (int64_t)FM_HUGE_PAGES;
}

static bool by_a_huge_page(int64_t pages)
{
	return pages >= (int64_t)FM_HUGE_PAGES ||
	       pages <= -(int64_t)FM_HUGE_PAGES;
}

static bool collapse_changed(void)
{
	return by_a_huge_page(fm_cache_resident() -
			      atomic_load(&seen_resident));
}

static bool collapse_due(void)
{
	unsigned p = atomic_load(&patience);

	return p && atomic_fetch_add(&waited, 1) + 1 >= p;
}

static FM_FAULT void collapse_wake(void)
{
	if (fm_event_waited(&work))
		fm_event_raise(&work);
}

FM_UP(frame_wanted, collapse_wake)

/* Wakes the thread if there may be something to do. */
static void collapse_every_second(void)
{
	if (!collapsing || !roomy() || !(collapse_changed() || collapse_due()))
		return;
	atomic_store(&look, true);
	fm_event_raise(&work);
}

static bool touched(struct fm_map *m, uint64_t i)
{
	uint64_t at = m->mbase + i;

	return atomic_load(&m->modes->touched[at >> FM_TOUCH_SHIFT]) &&
	       atomic_load(&m->modes->touched[(at + FM_HUGE_PAGES - 1) >>
					      FM_TOUCH_SHIFT]);
}

/* Somebody else wanted the CPU since this was asked last. */
static bool crowded(void)
{
	static long seen;
	struct rusage ru;
	bool yes;

	if (fm_sys2(SYS_getrusage, RUSAGE_THREAD, &ru))
		return false;
	yes = ru.ru_nivcsw != seen;
	seen = ru.ru_nivcsw;
	return yes;
}

/* As long as the work since `from` has taken. */
static void collapse_rest(uint64_t from)
{
	uint64_t ns = fm_now_ns() - from;

	if (crowded())
		fm_sys_sleep_us(ns / 1000);
}

static void buy_frames(void)
{
	uint64_t from = fm_now_ns();

	fm_frame_make_wanted();
	while (fm_frame_buy()) {
		collapse_rest(from);
		from = fm_now_ns();
	}
}

static int collapse_once(struct fm_map *m, uint64_t i)
{
	int err = fm_mode(m, i) & PM_HUGE ? 0 : fm_huge_collapse(m, i);

	if (!err)
		atomic_fetch_add(&m->file->st->collapsed, 1);
	return err;
}

/* False: no huge page is to be had. */
static bool collapse(struct fm_map *m, uint64_t i)
{
	uint64_t from = fm_now_ns();
	int err = collapse_once(m, i);

	collapse_rest(from);
	buy_frames();
	return err != -ENOMEM;
}

static bool can(struct fm_map *m, uint64_t i)
{
	return fm_uffd_caps()->move && fm_huge_fits(m, i);
}

/* No handler of the program runs meanwhile: it could fault, on a page or for a
 * frame that is locked here, or jump away. */
int fm_collapse(uintptr_t a, bool ask)
{
	struct fm_map *m;
	int err = -EINVAL;
	uint64_t i;

	FM_BLOCK_SIGNALS();
	FM_IN_EPOCH();
	m = fm_space_find(a);
	i = m ? (a - atomic_load(&m->start)) >> FM_PAGE_SHIFT : 0;
	if (m && can(m, i))
		err = ask ? 0 : collapse_once(m, i);
	return err;
}

static bool collapse_visit(struct fm_map *m)
{
	uint64_t i = (-atomic_load(&m->start) & (FM_HUGE - 1)) >> FM_PAGE_SHIFT;

	for (; i + FM_HUGE_PAGES <= fm_map_pages(m); i += FM_HUGE_PAGES) {
		if (!touched(m, i) || !fm_huge_fits(m, i) ||
		    !fm_huge_loose(m, i))
			continue;
		if (!roomy())
			break;
		if (!collapse(m, i))
			return false;
	}
	return true;
}

/* What the program keeps changing by write(2) leaves page by page. */
static bool collapse_changes(const struct fm_file *f)
{
	return fm_now_ms() - atomic_load(&f->calls->changed_ms) <
	       FM_SECOND_MS;
}

static bool visit_all(bool *ret_later)
{
	bool on = true;

	for (uint32_t id = 0; on && id < fm_file_top(); id++) {
		FM_IN_EPOCH();
		struct fm_file *f = fm_file_at(id);
		struct fm_map *m = f ? atomic_load(&f->maps) : NULL;

		if (m && collapse_changes(f)) {
			*ret_later = true;
			m = NULL;
		}
		for (; on && m; m = atomic_load(&m->file_next))
			on = collapse_visit(m);
	}
	return on;
}

static void be_patient(void)
{
	unsigned p = atomic_load(&patience);

	if (p * FM_SECOND_MS < fm_tune.serve_pause_ms)
		atomic_store(&patience, p ? 2 * p : 1);
}

static void visit_and_learn(void)
{
	bool later = false;

	atomic_store(&look, false);
	atomic_store(&seen_resident, fm_cache_resident());
	atomic_store(&waited, 0);
	if (visit_all(&later))
		atomic_store(&patience, later);
	else
		be_patient();
}

/* True when nothing comes or goes for a moment, after a change: what is there
 * looks as if it stays. */
static bool collapse_settled(bool moment)
{
	static int64_t last;
	int64_t now = fm_cache_resident(), step = now - last;

	last = now;
	return moment && !by_a_huge_page(step) && roomy() && collapse_changed();
}

static void *collapser(void *arg)
{
	const struct timespec moment = { 0, 100000000 };
	int err = 0;

	fm_thread_begin("fastmap-huge");
	for (;;) {
		uint32_t seen = fm_event_seen(&work);

		buy_frames();
		if (collapsing &&
		    (atomic_load(&look) || collapse_settled(err == -ETIMEDOUT)))
			visit_and_learn();
		err = fm_event_wait_alone(&work, seen, collapsing && roomy() &&
					  collapse_changed() ? &moment : NULL);
	}
	return arg;
}

static int collapse_start(void)
{
	if (!fm_frame_on())
		return 0;
	collapsing = fm_cache_limit() >= fm_tune.cache_large;
	return fm_thread_create(collapser, NULL);
}

static void collapse_reset(void)
{
	collapsing = false;
	atomic_store(&seen_resident, 0);
	fm_event_reset(&work);
	atomic_store(&look, false);
}

FM_LIFE(collapse, .level = FM_LIFE_HELPERS, .start = collapse_start,
	.reset = collapse_reset, .second = collapse_every_second)
