/* SPDX-License-Identifier: MIT */
/*
 * life.h - how the engine starts, what a child of fork forgets of it, how it
 * ends.
 *
 * Each file that has something to start, to forget or to end says so itself,
 * and nobody keeps a list of all of them:
 *
 *      FM_LIFE(demand, .level = FM_LIFE_MEMORY, .start = start, .reset = reset)
 *
 * An entry is an upcall (up.h). They run level by level, as the initcalls of
 * the Linux kernel do; within a level there is no order, so what needs another
 * entry to have run belongs a level higher. Upwards: start, beside, second,
 * forked, reset. Downwards, so that what was built last goes first: stop, dead.
 *
 * What a callback may do:
 * start   In the thread that maps the first file, inside its mmap: [plain],
 *         under the space lock, asynchronous signals blocked. Whoever maps may
 *         be an allocator under its locks: nothing that allocates from libc or
 *         locks in it (tests/checks/engine_context). Threads may be made from
 *         FM_LIFE_FAULTS on. 0, or -errno: with `what` (for the message, with
 *         `remedy`) this process is left to the kernel for good, without it the
 *         engine does without. What has started by then stays, as it is.
 * second  Once a second, in the thread of observe/control.c, with no lock:
 *         [plain].
 * beside  The kernel serves something of ours in this process: once in it, in a
 *         thread of ours, without a lock. The engine may run, or start later.
 * forked  In each child of fork, in the thread that forked, under the space
 *         lock, all signals blocked. The other threads are not here, and what
 *         they held is not given back: no lock is taken, locks are reset. No
 *         message, no thread.
 * reset   The same, in the child of a process whose engine ran: rings, pages
 *         and threads are the parent's. Descriptors are here: give them back.
 *         Afterwards all is as before start.
 * stop    At the normal end, once, in the thread that calls exit: [plain], no
 *         lock. Dirty pages have been written; faults are served until the last
 *         moment, for other destructors may touch mapped memory. It is called
 *         also where nothing has been started: ask fm_life_running().
 * dead    In the guardian, when the program is dead or has executed something:
 *         raw system calls only, no libc, in memory where threads have stopped
 *         in the middle of anything: locks are reset, not taken. Not called
 *         where the program has become a user whom the guardian could not
 *         become.
 */
#pragma once

#include <stdbool.h>

#include "up.h"

#define FM_SECOND_MS 1000u /* unit: the engine's tick */

enum fm_life_level {
	FM_LIFE_GATE,    /* may it start here at all? */
	FM_LIFE_UFFD,
	FM_LIFE_IO,      /* rings */
	FM_LIFE_MEMORY,  /* bounce buffers, cache, huge pages */
	FM_LIFE_FAULTS,  /* from here on faults are delivered to us */
	FM_LIFE_HELPERS, /* what makes it faster */
	FM_LIFE_RUNNING, /* fm_life_running() by now */
	FM_LIFE_LEVELS
};

struct fm_life {
	enum fm_life_level level;
	const char *what;
	const char *remedy;
	int (*start)(void);
	void (*beside)(void);
	void (*second)(void);
	void (*forked)(void);
	void (*reset)(void);
	void (*stop)(void);
	/* The program's pid; whether it has executed another program. */
	void (*dead)(int pid, bool executed);
};

/* A start that learns only from the failure what to say of it stores `what` and
 * `remedy` into life_NAME. */
#define FM_LIFE(name, ...)                                                \
	static struct fm_life life_##name = { __VA_ARGS__ };              \
	FM_UP(life, life_##name)

FM_UP_STRUCT(struct fm_life, life);

/* Start on first need, under the space lock. 0, or -errno when this process
 * cannot be served (said once on stderr). */
int fm_life_need(void);
bool fm_life_running(void);
/* Such a process it is, as is known by now. */
bool fm_life_refused(void);
/* [any] From now on, and in no child of fork, the kernel serves what is mapped:
 * there is nothing of the engine's, or its threads are about to be ended. */
void fm_life_rests(void);
/* [any] The engine runs, and this is its process and no child that shares the
 * memory. */
bool fm_life_is_owner(void);
/* Made by fork, not by exec. */
bool fm_life_is_child(void);
/* The program shall not run where the engine cannot. */
extern bool fm_life_strict;

/* [any] Somebody has something to do in `dead` after an exec, too. */
extern _Atomic bool fm_life_after_exec;

void fm_life_beside(void);
void fm_life_second(void);
void fm_life_forked(void);
/* Without it, where nothing was in use: there is nothing to forget. */
void fm_life_child(void);
void fm_life_stop(void);
void fm_life_dead(int pid, bool executed);
