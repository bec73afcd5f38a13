/* SPDX-License-Identifier: MIT */
/*
 * ring_workers.c - waits until the kernel's io_uring workers of this process
 * have let go of what they worked for.
 *
 * What a ring may not do at once (fallocate, fsync, a write through the page
 * cache) is done by such a worker, a thread of this process. It announces that
 * it is done before it gives up the file. Whoever waits goes on meanwhile, and
 * may end the process: then the file is given up by a worker of the kernel's
 * own, some milliseconds after the process. A worker that sleeps has given up
 * all, for between the two it never sleeps.
 */
#include "base/pause.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/thread.h"
#include "ring_priv.h"
#include "tunables.h"

#include <sched.h>
#include <stdlib.h>

#define BUF 4096 /* size: bytes of a list of threads */

static void ring_workers_look(const char *tid, void *arg)
{
	bool *busy = arg;
	char state;

	if (!*busy && !fm_thread_is(atoi(tid)) &&
	    fm_proc_is_worker(tid, &state))
		*busy = state == 'R' || state == 'D';
}

static bool any_busy(char *buf)
{
	bool busy = false;

	fm_each_thread(buf, BUF, ring_workers_look, &busy);
	return busy;
}

void fm_rings_settle(void)
{
	/* those of the program may be at work for ever */
	const struct fm_wait w = fm_wait_for(fm_tune.moment_ms);
	char *buf = fm_home.on ? fm_sys_anon(BUF) : NULL;

	if (!buf)
		return;
	while (any_busy(buf) && fm_wait_on(&w))
		;
	fm_sys_munmap(buf, BUF);
}

#define IOWQ_AFF 17 /* ABI: IORING_REGISTER_IOWQ_AFF, Linux 5.14 */
#define IOWQ_NO_AFF 18 /* ABI: IORING_UNREGISTER_IOWQ_AFF */

void fm_rings_workers_as_were(void)
{
	if (fm_home.on)
		fm_sys4(SYS_io_uring_register, fm_home.ring.ring_fd,
			IOWQ_NO_AFF, NULL, 0);
}

/* The last worker of a thread sleeps for good, unless it finds itself on a CPU
 * that is not for workers any more: there it is bound to (Linux 6.3). */
void fm_rings_let_worker_go(int tid)
{
	cpu_set_t all, one;
	long n = fm_sys3(SYS_sched_getaffinity, 0, sizeof(all), &all);
	unsigned cpu = 0;

	if (!fm_home.on || n <= 0 || CPU_COUNT(&all) < 2)
		return;
	while (!CPU_ISSET(cpu, &all))
		cpu++;
	CPU_ZERO(&one);
	CPU_SET(cpu, &one);
	CPU_CLR(cpu, &all);
	fm_sys3(SYS_sched_setaffinity, tid, n, &one);
	fm_sys4(SYS_io_uring_register, fm_home.ring.ring_fd, IOWQ_AFF, &all,
		n);
}
