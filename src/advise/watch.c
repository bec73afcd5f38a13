/* SPDX-License-Identifier: MIT */
#include "watch.h"

#include "base/event.h"
#include "base/sys.h"
#include "base/thread.h"
#include "engine.h"
#include "policy.h"
#include "tunables.h"

enum state { IDLE, RUNNING, REFUSED };
static _Atomic int state;
static _Atomic bool stop;
static struct fm_event bell;
void (*fm_watch_look)(void);

/* A program that has files taken back sooner is looked at sooner. */
static uint64_t pause_ms(void)
{
	uint64_t ms =
		fm_least(fm_tune.watch_every_ms, fm_settings()->take_back_ms);

	return ms > fm_tune.watch_least_ms ? ms : fm_tune.watch_least_ms;
}

/* Who adds a range after the last look finds the thread RUNNING, or idle. */
static bool goes_on(void)
{
	const bool ends = atomic_load(&stop);
	int idle = IDLE;

	if (!ends && fm_krange_any())
		return true;
	atomic_store(&state, IDLE);
	return !ends && fm_krange_any() &&
	       atomic_compare_exchange_strong(&state, &idle, RUNNING);
}

static void *watch(void *arg)
{
	fm_thread_begin("fastmap-watch");
	do {
		fm_event_sleep_ms(&bell, &stop, pause_ms());
		if (!atomic_load(&stop))
			fm_watch_look();
	} while (goes_on());
	return NULL;
}

void fm_watch_need(void)
{
	int idle = IDLE;

	if (!fm_watch_look || !fm_settings()->take_back_ms ||
	    fm_sys_confined() ||
	    !atomic_compare_exchange_strong(&state, &idle, RUNNING))
		return;
	atomic_store(&stop, false);
	if (fm_thread_create(watch, NULL))
		atomic_store(&state, REFUSED);
}

void fm_watch_end(void)
{
	atomic_store(&stop, true);
	fm_event_raise(&bell);
	fm_thread_leaves(&state, RUNNING);
}

void fm_watch_forked(void)
{
	atomic_store(&state, IDLE);
	fm_event_reset(&bell);
}
