/* SPDX-License-Identifier: MIT */
#include "evictor.h"

#include "base/epoch.h"
#include "base/event.h"
#include "base/life.h"
#include "base/lock.h"
#include "base/thread.h"
#include "cache.h"
#include "file/file.h"
#include "lazyfree.h"
#include "mem_bell.h"
#include "tunables.h"
#include "writeback/writeback.h"

#define BATCH 64 /* size: pages */

static struct fm_event work;

static FM_FAULT int64_t to_free(void)
{
	return (int64_t)(fm_cache_limit() / fm_tune.evictor_free);
}

/* What is written when it leaves takes a device, and the thread that faults
 * would wait for it. */
static FM_FAULT bool evictor_is_small(void)
{
	return fm_cache_limit() < fm_tune.cache_large &&
	       atomic_load_explicit(&fm_dirty_heap, memory_order_relaxed) <= 0;
}

static FM_FAULT int64_t available(void)
{
	return (int64_t)fm_cache_limit() - fm_cache_resident();
}

static FM_FAULT void wake_if_nearly_full(void)
{
	if (fm_event_waited(&work) && available() <= to_free() / 2 &&
	    !evictor_is_small())
		fm_event_raise(&work);
}

FM_FAULT void fm_evictor_shrink(void)
{
	if (available() < 0 || fm_lazyfree_over())
		fm_event_raise(&work);
}

/* ---- by who needs it at once -------------------------------------------- */

static FM_FAULT uint64_t batch_size(void)
{
	uint64_t lim = fm_cache_limit();

	/* Batches of a small cache must not empty it. */
	return lim / 8 < 1 ? 1 : lim / 8 > BATCH ? BATCH : lim / 8;
}

FM_FAULT void fm_cache_charge(struct fm_file *f, uint64_t n)
{
	int64_t lim = (int64_t)fm_cache_limit();
	int64_t now = fm_cache_count(f, n);

	if (now == (int64_t)n)
		fm_mem_monitor_wake(); /* the first */
	wake_if_nearly_full();
	for (int tries = 0; now > lim && tries < 64; tries++) {
		uint64_t need = (uint64_t)(now - lim);
		uint64_t want = batch_size();

		if (fm_cache_evict(need > want ? need : want) == 0 &&
		    !fm_wb_some()) {
			if (fm_wb_failing())
				break; /* dirty to the brim, and stays so */
			if (tries > 4)
				fm_sys0(SYS_sched_yield);
		}
		now = fm_cache_resident();
		lim = (int64_t)fm_cache_limit();
	}
}

/* ---- by the thread ------------------------------------------------------ */

static void shrink_lazy(void)
{
	for (uint64_t was = UINT64_MAX, now;
	     fm_lazyfree_over() && (now = fm_lazyfree_entries()) < was;
	     was = now) {
		FM_IN_EPOCH();

		fm_cache_trim_lazy();
	}
}

/* What is dirty has to be written first. */
static void shrink(void)
{
	for (bool any = true; any && available() < 0;) {
		FM_IN_EPOCH();

		any = fm_cache_evict(BATCH) || fm_wb_some();
	}
}

static void keep_free(void)
{
	for (bool any = true; any && available() < to_free();) {
		unsigned e = fm_epoch_enter();

		any = fm_cache_evict(BATCH) > 0;
		fm_epoch_leave(e);
		/* While there is room left, the threads that fault go first:
		 * else they wait for all of it, two milliseconds of a CPU. */
		if (available() > to_free() / 4)
			fm_sys0(SYS_sched_yield);
	}
}

static void *evictor(void *arg)
{
	fm_thread_begin("fastmap-evict");
	for (;;) {
		uint32_t seen = fm_event_seen(&work);

		shrink();
		shrink_lazy();
		if (!evictor_is_small())
			keep_free();
		fm_event_wait_alone(&work, seen, NULL);
	}
	return NULL;
}

static int evictor_start(void)
{
	return fm_thread_create(evictor, NULL);
}

static void evictor_reset(void)
{
	fm_event_reset(&work);
}

FM_LIFE(evictor, .level = FM_LIFE_HELPERS, .start = evictor_start,
	.reset = evictor_reset)
