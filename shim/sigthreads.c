/* SPDX-License-Identifier: MIT */
/*
 * sigthreads.c - before faults are delivered by signal: does any thread have
 * SIGBUS blocked in the kernel after all (created before our constructor ran,
 * or by raw system calls)? It would be killed by its first fault.
 */
#include "shim.h"

#include <stdlib.h>
#include <string.h>

#include "log.h"
#include "sigstack.h"
#include "tasks.h"

/* libc blocks everything for moments (pthread_create, posix_spawn). */
#define TRIES 20

/* Kernel workers of io_uring show up as threads, with everything blocked;
 * they never run program code. */
static bool status_blocks_bus(const char *text)
{
	const char *p;

	if (!strncmp(text, "Name:\tiou-", 10))
		return false;
	p = strstr(text, "\nSigBlk:");
	return p && (strtoull(p + 8, NULL, 16) & FM_BUS_BIT);
}

int fm_sig_threads_ready(void)
{
	const struct timespec ms = { 0, 1000000 };
	uint64_t bit = FM_BUS_BIT;

	fm_sys4(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, NULL, 8);
	/* No /proc: nothing to go by. */
	for (int i = 0; i < TRIES; i++) {
		if (fm_tasks_any(status_blocks_bus) <= 0)
			return 0;
		fm_sys2(SYS_nanosleep, &ms, NULL);
	}
	fm_log(FM_LOG_WARN, "a thread of this program has SIGBUS blocked "
			    "beyond our reach; not using signals for faults");
	return -EBUSY;
}
