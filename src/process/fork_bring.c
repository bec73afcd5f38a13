/* SPDX-License-Identifier: MIT */
#include "fork_bring.h"

#include <sys/resource.h>

#include "base/life.h"
#include "base/lock.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/thread.h"
#include "memory.h"
#include "tunables.h"
#include "vm/vm.h"

static struct fm_lock lock = FM_LOCK(FM_RANK_OF_TABLES);
static struct fm_resident waiting; /* under the lock, */
static bool running;             /* as is that somebody looks at it */

static uint64_t major_faults(void)
{
	struct rusage ru;

	if (fm_sys2(SYS_getrusage, RUSAGE_SELF, &ru))
		return 0;
	return (uint64_t)ru.ru_majflt;
}

/* Pages of the parent are anonymous memory; beside them the page cache may not
 * have room for as much. What it would evict for the last of it is the first.
 */
static bool is_room(uint64_t asked)
{
	uint64_t left = fm_memory_left("");

	return asked < left / 2 || fm_memory_free("") > left / 8;
}

/* More at a time while the child goes on to wait for pages. */
static void bring(struct fm_resident *h)
{
	uint64_t seen = 0, turn = 1, pause = 1, idle = 0, n;

	while (h->at < h->n && idle < fm_tune.fork_bring_idle_ms &&
	       !fm_sys_confined()) {
		n = major_faults();
		if (n == seen && h->asked >= fm_tune.fork_bring_little) {
			fm_thread_sleep_ms(pause);
			idle += pause;
			pause = fm_least(2 * pause,
					 fm_tune.fork_bring_pause_ms);
			turn = 1;
			continue;
		}
		if (!is_room(h->asked))
			break;
		seen = n;
		fm_resident_ask(h, turn);
		turn = fm_least(2 * turn, fm_tune.resident_turn_ms);
		pause = 1;
		idle = 0;
		fm_thread_sleep_ms(0); /* and do what all threads are told to */
	}
	fm_resident_forget(h);
}

static bool take_waiting(struct fm_resident *ret)
{
	fm_lock(&lock);
	*ret = waiting;
	waiting = (struct fm_resident){ .v = NULL };
	running = ret->n;
	fm_unlock(&lock);
	return ret->n;
}

/* Files of the control groups are read in a table of descriptors of its own. */
static void *bringer(void *arg)
{
	static struct fm_kept_files kept;
	struct fm_resident now;

	fm_thread_begin("fastmap-fork");
	if (!fm_read_keep(&kept))
		return NULL;
	while (take_waiting(&now))
		bring(&now);
	return NULL;
}

void fm_fork_bring(struct fm_resident *h)
{
	if (!fm_resident_ask(h, fm_tune.resident_turn_ms) ||
	    fm_sys_confined()) {
		fm_resident_forget(h);
		return;
	}
	fm_lock(&lock);
	fm_resident_move(&waiting, h);
	if (!running)
		running = !fm_thread_create(bringer, NULL);
	fm_unlock(&lock);
}

static void forked(void)
{
	fm_lock_reset(&lock);
	waiting = (struct fm_resident){ .v = NULL };
	running = false;
}

FM_LIFE(fork_bring, .level = FM_LIFE_HELPERS, .forked = forked)
