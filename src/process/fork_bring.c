/* SPDX-License-Identifier: MIT */
#include "fork_bring.h"

#include <sys/resource.h>

#include "base/life.h"
#include "base/lock.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/thread.h"
#include "readahead/readahead.h"
#include "tunables.h"
#include "vm/vm.h"

static struct fm_lock lock = FM_LOCK(FM_RANK_OF_TABLES);
static struct fm_fetch *waiting; /* under the lock, */
static bool running;            /* as is that somebody looks at it */

static uint64_t major_faults(void)
{
	struct rusage ru;

	if (fm_sys2(SYS_getrusage, RUSAGE_SELF, &ru))
		return 0;
	return (uint64_t)ru.ru_majflt;
}

/* More at a time while the child goes on to wait for pages. */
static void bring(struct fm_fetch *now)
{
	uint64_t seen = 0, turn = 1, pause = 1, idle = 0, n;

	while (now && idle < fm_tune.patience_ms &&
	       !fm_sys_confined()) {
		n = major_faults();
		if (n == seen && now->asked >= fm_tune.fetch_look) {
			fm_thread_sleep_ms(pause);
			idle += pause;
			pause = fm_least(2 * pause,
					 fm_tune.resident_turn_ms);
			turn = 1;
			continue;
		}
		seen = n;
		fm_fetch_turn(&now, turn);
		turn = fm_least(2 * turn, fm_tune.resident_turn_ms);
		pause = 1;
		idle = 0;
		fm_thread_sleep_ms(0); /* and do what all threads are told to */
	}
	fm_fetch_forget_all(&now);
}

static struct fm_fetch *take_waiting(void)
{
	struct fm_fetch *now;

	fm_lock(&lock);
	now = waiting;
	waiting = NULL;
	running = now != NULL;
	fm_unlock(&lock);
	return now;
}

/* Files of the control groups are read in a table of descriptors of its own. */
static void *bringer(void *arg)
{
	static struct fm_kept_files kept;
	struct fm_fetch *now;

	fm_thread_begin("fastmap-fork");
	if (!fm_read_keep(&kept))
		return NULL;
	while ((now = take_waiting()))
		bring(now);
	return NULL;
}

/* Pages of the parent are anonymous memory; beside them the page cache may not
 * have room for as much. What it would evict for the last of it is the first.
 */
void fm_fork_bring(struct fm_fetch *h)
{
	if (!fm_fetch_list(h, fm_tune.resident_turn_ms) || fm_sys_confined()) {
		fm_fetch_forget(h);
		return;
	}
	h->room = FM_FETCH_HALF;
	fm_lock(&lock);
	fm_fetch_later(&waiting, h);
	if (!running)
		running = !fm_thread_create(bringer, NULL);
	fm_unlock(&lock);
}

static void fork_bring_forked(void)
{
	fm_lock_reset(&lock);
	waiting = NULL;
	running = false;
}

FM_LIFE(fork_bring, .level = FM_LIFE_HELPERS, .forked = fork_bring_forked)
