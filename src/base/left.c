/* SPDX-License-Identifier: MIT */
#include "left.h"

#include <stdlib.h>

#include "engine.h"
#include "life.h"
#include "proc.h"
#include "sys.h"
#include "thread.h"

#define STATUS 52 /* ABI: in a process's stat, as waitpid(2) has it */

/* One that has ended meanwhile is the program's: it may have made another, who
 * was not there yet when the names were read. By number: a name is the
 * program's to choose. */
bool fm_left_is_ours(const char *tid)
{
	char state;

	return fm_thread_is(atoi(tid)) || fm_proc_is_worker(tid, &state);
}

struct threads {
	int but;
	bool ours; /* all but that one, so far */
};

static void left_look_at(const char *name, void *arg)
{
	struct threads *t = arg;

	if (atoi(name) != t->but)
		t->ours = t->ours && fm_left_is_ours(name);
}

static bool all_are_ours(int but)
{
	char buf[4096] __attribute__((aligned(8)));
	struct threads t = { but, true };

	return !fm_each_thread(buf, sizeof(buf), left_look_at, &t) && t.ours;
}

static _Atomic bool outlived; /* the main thread, by others */

/* Only its main thread's state says of a process whether others have been left
 * alone: so that is looked at first. The status is that of the program's last
 * thread, which is 0 for any but the main one. */
bool fm_left_alone(int *ret_status)
{
	char state;
	const uint64_t status = fm_proc_stat("/proc/self/stat", STATUS, &state);

	if (state != 'Z')
		return false;
	*ret_status = atomic_load(&outlived) ? 0 : (int)(status >> 8 & 0xff);
	if (all_are_ours(fm_sys_getpid()))
		return true;
	atomic_store(&outlived, true);
	return false;
}

void fm_left_end_if_alone(void)
{
	int status;

	if (!fm_sys_may_ask() || !fm_left_alone(&status))
		return;
	fm_life_stop();
	fm_sys1(SYS_exit_group, status);
}

bool fm_only_thread(void)
{
	return all_are_ours(fm_sys_gettid());
}

static void left_reset(void)
{
	atomic_store(&outlived, false);
}

FM_LIFE(left, .level = FM_LIFE_MEMORY, .reset = left_reset)
