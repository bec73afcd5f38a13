/* SPDX-License-Identifier: MIT */
/*
 * sigthreads.c - before faults are delivered by signal: does any thread have
 * SIGBUS blocked in the kernel after all (created before our constructor ran,
 * or by raw system calls)? It would be killed by its first fault.
 */
#include "shim.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "sigstack.h"

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

/* The text of /proc/TID/status. False: it has exited. */
static bool status_of(const char *tid, char *text, size_t size)
{
	char path[64];
	ssize_t n;
	int fd;

	/* not below /proc/self/task: src/base/proc.c */
	snprintf(path, sizeof(path), "/proc/%s/status", tid);
	fd = fm_sys_open(path, O_RDONLY, 0);
	if (fd < 0)
		return false;
	n = fm_sys3(SYS_read, fd, text, size - 1);
	fm_sys_close(fd);
	text[n > 0 ? n : 0] = 0;
	return true;
}

/* Kernel workers of io_uring show up as threads, with everything blocked;
 * they never run program code. */
static bool blocks_bus(const char *tid, bool *ret_asleep)
{
	char text[4096];
	const char *p;

	if (!status_of(tid, text, sizeof(text)) ||
	    !strncmp(text, "Name:\tiou-", 10))
		return false;
	*ret_asleep = strstr(text, "\nState:\tS");
	p = strstr(text, "\nSigBlk:");
	return p && (strtoull(p + 8, NULL, 16) & FM_BUS_BIT) &&
	       !is_timer_helper(tid);
}

/* Each is waited for by itself: while threads are made there is always one. */
static void keeps_blocked(const char *tid, void *arg)
{
	bool *found = arg, asleep, is = !*found && blocks_bus(tid, &asleep);
	int slept = 0;

	for (int i = 0; is && slept < SLEEPS_MS && i < WAITS_MS; i++) {
		fm_sys_sleep_us(1000);
		is = blocks_bus(tid, &asleep);
		slept += is && asleep;
	}
	*found |= is;
}

int fm_sig_threads_ready(void)
{
	char buf[2048] __attribute__((aligned(8)));
	uint64_t bit = FM_BUS_BIT;
	bool found = false;

	fm_sys4(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, NULL, 8);
	/* No /proc: nothing to go by. */
	fm_each_thread(buf, sizeof(buf), keeps_blocked, &found);
	return found ? -EBUSY : 0;
}
