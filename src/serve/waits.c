/* SPDX-License-Identifier: MIT */
/* waits.c - what the kernel counts of this process's waits. */
#include <stdlib.h>
#include <sys/resource.h>

#include "base/proc.h"
#include "base/sys.h"
#include "base/thread.h"
#include "rate.h"

static uint64_t to_ms(const struct timeval *t)
{
	return (uint64_t)t->tv_sec * 1000 + (uint64_t)t->tv_usec / 1000;
}

void fm_totals_of_kernel(struct fm_totals *ret)
{
	struct rusage r = { 0 };

	fm_sys2(SYS_getrusage, RUSAGE_SELF, &r);
	ret->ms = fm_now_ms();
	ret->cpu_ms = (to_ms(&r.ru_utime) + to_ms(&r.ru_stime)) / fm_cpus();
	ret->major = (uint64_t)r.ru_majflt;
	ret->read_bytes = (uint64_t)r.ru_inblock * 512;
}

/* Ours may wait, too: they bring what was there. */
static void count_waiting(const char *tid, void *arg)
{
	unsigned *n = arg;

	*n += !fm_thread_is(atoi(tid)) && fm_proc_thread_waits(tid);
}

unsigned fm_threads_waiting(void)
{
	static char buf[4096] __attribute__((aligned(8)));
	unsigned n = 0;

	fm_each_thread(buf, sizeof(buf), count_waiting, &n);
	return n;
}
