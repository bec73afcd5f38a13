/* SPDX-License-Identifier: MIT */
#include "waiters.h"

#include <stdlib.h>

#include "base/left.h"
#include "base/life.h"
#include "base/lock.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"

#define KNOWN 16 /* size: threads that wait */
#define ASKED 64 /* size: threads of a look */

/* As proc_pid_stat(5) counts them. */
enum { MINOR = 10, MAJOR = 12 };

struct waiter {
	int tid;
	uint64_t faults; /* that are over: another is another wait */
	uint64_t since_ms;
};

struct waiters {
	struct waiter at[KNOWN];
	unsigned n, asked;
};

static struct fm_lock lock = FM_LOCK(FM_RANK_OF_TABLES);
static struct waiters last;

/* Its own: /proc/TID has those of all threads, ours too. */
static uint64_t faults_of(const char *tid)
{
	char path[64], state;

	if (fm_join(path, sizeof(path), "/proc/self/task/", tid, "/stat"))
		return 0;
	return fm_proc_stat(path, MINOR, &state) +
	       fm_proc_stat(path, MAJOR, &state);
}

static bool is_in_a_fault(const char *tid)
{
	struct fm_proc_call c;

	return fm_proc_thread_waits(tid) && fm_proc_syscall(tid, &c) &&
	       c.nr == -1;
}

static void waiters_ask(const char *tid, void *arg)
{
	struct waiters *w = arg;

	if (w->n == KNOWN || w->asked == ASKED || fm_left_is_ours(tid))
		return;
	w->asked++;
	if (is_in_a_fault(tid))
		w->at[w->n++] = (struct waiter){ atoi(tid), faults_of(tid),
						 fm_now_ms() };
}

/* Who was there before, in the same fault. */
static void waiters_go_on(struct waiter *w)
{
	for (unsigned i = 0; i < last.n; i++)
		if (last.at[i].tid == w->tid && last.at[i].faults == w->faults)
			w->since_ms = last.at[i].since_ms;
}

void fm_waiters_look(void)
{
	char buf[4096] __attribute__((aligned(8)));
	struct waiters now = { .n = 0 };

	fm_each_thread(buf, sizeof(buf), waiters_ask, &now);
	fm_lock(&lock);
	for (unsigned i = 0; i < now.n; i++)
		waiters_go_on(&now.at[i]);
	last = now;
	fm_unlock(&lock);
}

uint64_t fm_waiters_ms(void)
{
	const uint64_t now = fm_now_ms();
	uint64_t most = 0;

	FM_HOLD(&lock);
	for (unsigned i = 0; i < last.n; i++)
		if (now - last.at[i].since_ms > most)
			most = now - last.at[i].since_ms;
	return most;
}

static void waiters_forked(void)
{
	fm_lock_reset(&lock);
	last.n = 0;
}

FM_LIFE(waiters, .level = FM_LIFE_HELPERS, .forked = waiters_forked)
