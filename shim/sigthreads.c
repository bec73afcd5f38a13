/* SPDX-License-Identifier: MIT */
/*
 * sigthreads.c - before faults are delivered by signal: does any thread have
 * SIGBUS blocked in the kernel after all (created before our constructor ran,
 * or by raw system calls)? It would be killed by its first fault.
 */
#include "shim.h"

#include <stdlib.h>
#include <string.h>

#include "sigstack.h"
#include "tasks.h"

/* libc blocks everything for moments (pthread_create, posix_spawn). A thread
 * that sleeps in such a moment ends it soon, unless it is no such moment; one
 * that waits for a processor, or for the lock of the mappings, only once the
 * others have had their turn. */
#define SLEEPS_MS 100
#define WAITS_MS 2000

/* Signal 32 is libc's own. The thread that waits for it starts the callbacks
 * of timers (SIGEV_THREAD, see notify.c) and never runs program code. */
static bool is_timer_helper(const char *tid)
{
	struct fm_proc_call c;
	uint64_t set = 0;

	if (!fm_proc_syscall(tid, &c) || c.nr != SYS_rt_sigtimedwait)
		return false;
	/* The stack of the thread may be gone by now. */
	return fm_user_read(&set, (void *)c.arg[0], sizeof(set)) &&
	       set == 1ull << 31;
}

/* Kernel workers of io_uring show up as threads, with everything blocked;
 * they never run program code. */
static bool blocks_bus(const char *tid, const char *text)
{
	const char *p;

	if (!strncmp(text, "Name:\tiou-", 10))
		return false;
	p = strstr(text, "\nSigBlk:");
	return p && (strtoull(p + 8, NULL, 16) & FM_BUS_BIT) &&
	       !is_timer_helper(tid);
}

static bool blocks_asleep(const char *tid, const char *text)
{
	return strstr(text, "\nState:\tS") && blocks_bus(tid, text);
}

/* Each is waited for by itself: while threads are made there is always one. */
static bool keeps_blocked(const char *tid, const char *text)
{
	bool is = blocks_bus(tid, text);
	int asleep = 0;

	for (int i = 0; is && asleep < SLEEPS_MS && i < WAITS_MS; i++) {
		fm_sys_sleep_us(1000);
		asleep += fm_task_is(tid, blocks_asleep);
		is = fm_task_is(tid, blocks_bus);
	}
	return is;
}

int fm_sig_threads_ready(void)
{
	uint64_t bit = FM_BUS_BIT;

	fm_sys4(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, NULL, 8);
	/* No /proc: nothing to go by. */
	return fm_tasks_any(keeps_blocked) > 0 ? -EBUSY : 0;
}
