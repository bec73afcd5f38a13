/* SPDX-License-Identifier: MIT */
#include "kernel_monitor.h"

#include "base/event.h"
#include "base/life.h"
#include "base/sys.h"
#include "base/thread.h"
#include "engine.h"
#include "policy.h"
#include "krange.h"

enum state { IDLE, RUNNING, REFUSED };
static _Atomic int state;
static _Atomic bool stop;
static _Atomic bool asleep; /* until it is woken */
static struct fm_event bell;
#define NEVER UINT64_MAX
/* When something was read, as last told; NEVER: nobody tells. */
static _Atomic uint64_t read_ms = NEVER;
#define IDLE_MS 3000 /* unit: two seconds that are over, and this one */

bool fm_kernel_monitor_idle(void)
{
	const uint64_t at = atomic_load(&read_ms);

	return at != NEVER && fm_now_ms() - at > IDLE_MS;
}

/* Who adds a range after the last look finds the thread RUNNING, or idle. */
static bool watch_goes_on(void)
{
	const bool ends = atomic_load(&stop) || fm_life_running();
	int idle = IDLE;

	if (!ends && fm_krange_any())
		return true;
	atomic_store(&state, IDLE);
	return !ends && fm_krange_any() &&
	       atomic_compare_exchange_strong(&state, &idle, RUNNING);
}

/* While nothing is read until the thread that advises says that something is:
 * it looks all the time. It notes that first, and looks then whether we sleep:
 * one of the two sees the other. */
static void watch_rest(void)
{
	const struct timespec second = fm_timespec_ms(FM_SECOND_MS);
	const uint32_t seen = fm_event_seen(&bell);
	bool idle;

	atomic_store(&asleep, true);
	idle = fm_kernel_monitor_idle();
	if (!idle)
		atomic_store(&asleep, false);
	if (!atomic_load(&stop))
		fm_event_wait_alone(&bell, seen, idle ? NULL : &second);
}

static void *watch(void *arg)
{
	fm_thread_begin("fastmap-watch");
	do {
		watch_rest();
		if (!atomic_load(&stop))
			FM_UP_EACH(kernel_monitor, look)
				look();
	} while (watch_goes_on());
	return NULL;
}

void fm_kernel_monitor_need(void)
{
	int idle = IDLE;

	if (!FM_UP_ONE(kernel_monitor) || !fm_settings()->promote_ms ||
	    fm_sys_confined() || fm_life_running() ||
	    !atomic_compare_exchange_strong(&state, &idle, RUNNING))
		return;
	atomic_store(&stop, false);
	if (fm_thread_create(watch, NULL))
		atomic_store(&state, REFUSED);
}

void fm_kernel_monitor_wake(void)
{
	if (atomic_exchange(&asleep, false))
		fm_event_raise(&bell);
}

void fm_kernel_monitor_reads(void)
{
	atomic_store(&read_ms, fm_now_ms());
	fm_kernel_monitor_wake();
}

void fm_kernel_monitor_untold(void)
{
	atomic_store(&read_ms, NEVER);
	fm_kernel_monitor_wake();
}

void fm_kernel_monitor_end(void)
{
	atomic_store(&stop, true);
	fm_event_raise(&bell);
	fm_thread_leaves(&state, RUNNING);
}

void fm_kernel_monitor_forked(void)
{
	atomic_store(&read_ms, NEVER);
	atomic_store(&state, IDLE);
	fm_event_reset(&bell);
}
