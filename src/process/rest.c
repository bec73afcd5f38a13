/* SPDX-License-Identifier: MIT */
/*
 * rest.c - the threads of the engine end while the program goes on.
 *
 * Some calls are refused to a process with several threads (unshare and setns
 * of a user namespace say), or where another shares its memory. In a program
 * with one thread these are ours, and the guardian: all that is mapped becomes
 * the kernel's, and they end. What they hold elsewhere is the process's.
 */
#include <stdlib.h>

#include "advise/advise.h"
#include "base/life.h"
#include "base/pause.h"
#include "base/proc.h"
#include "base/shrinker.h"
#include "base/sys.h"
#include "base/thread.h"
#include "cache/cache.h"
#include "engine.h"
#include "file/file.h"
#include "guardian.h"
#include "io/io.h"
#include "map/map.h"
#include "tunables.h"
#include "vm/vm.h"
#include "warm/warm.h"

/* ---- io_uring's workers ------------------------------------------------- */

struct workers {
	unsigned n;
	int one;
};

static void rest_look_at(const char *tid, void *arg)
{
	struct workers *w = arg;

	if (atoi(tid) == fm_sys_gettid())
		return;
	w->n++;
	w->one = atoi(tid);
}

static struct workers rest_look(void)
{
	char buf[4096] __attribute__((aligned(8)));
	struct workers w = { 0 };

	fm_each_thread(buf, sizeof(buf), rest_look_at, &w);
	return w;
}

/* What has ended is there for a moment longer. A look makes a thread of the
 * moment, and idle workers take seconds. */
static bool wait_for_workers(void)
{
	const struct fm_wait until = fm_wait_for(fm_tune.patience_ms);
	struct workers w = rest_look();
	int told = 0;

	for (; w.n && fm_wait_on(&until); w = rest_look())
		if (fm_now_ms() - until.begin_ms > 20 && told != w.one)
			fm_rings_let_worker_go(told = w.one);
	if (told)
		fm_rings_workers_as_were();
	return !w.n;
}

/* ---- the engine -------------------------------------------------------- */

static int rest_hand_over(void)
{
	int err;

	fm_unmap_cache_drop();
	fm_window_drop();
	err = fm_demote_where(NULL, 0, FM_WHY_ALONE);
	if (err)
		return err;
	fm_life_rests();
	fm_rings_settle();
	fm_rings_release(fm_file_top());
	fm_guardian_end();
	return 0;
}

int fm_engine_rest(void)
{
	uint64_t old;
	int err;

	fm_helper_end();
	fm_warm_thread_end();
	fm_space_lock(&old);
	err = fm_life_running() ? rest_hand_over() : 0;
	fm_space_unlock(&old);
	if (err)
		return err;
	if (!fm_thread_end_all((int)fm_tune.patience_ms))
		return -EBUSY;
	fm_shrink_idle();
	fm_frame_rest();
	return wait_for_workers() ? 0 : -EBUSY;
}

void fm_engine_no_threads(void)
{
	fm_life_rests();
}
