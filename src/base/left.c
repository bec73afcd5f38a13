/* SPDX-License-Identifier: MIT */
#include "left.h"

#include <stdlib.h>

#include "engine.h"
#include "life.h"
#include "proc.h"
#include "sys.h"
#include "thread.h"

#define STATUS 52 /* ABI: in a process's stat, as waitpid(2) has it */

#define LOOKS 64 /* size: one after the other */

/* By number: a name is the program's to choose. */
bool fm_left_is_ours(const char *tid)
{
	char state;

	return fm_thread_is(atoi(tid)) || fm_proc_is_worker(tid, &state);
}

struct threads {
	int but;
	bool theirs, unsure;
};

/* Of a look at which somebody ends nothing is known: he may have made another,
 * who was not there yet when the names were read, or have been one of ours,
 * whose number is forgotten by now. */
static void left_look_at(const char *name, void *arg)
{
	/* First: one of ours that ends is not known any more. */
	const bool ours = fm_thread_is(atoi(name));
	struct threads *t = arg;
	bool worker;

	if (atoi(name) == t->but)
		return;
	if (!fm_proc_thread_goes_on(name, &worker))
		t->unsure = true;
	else if (!ours && !worker)
		t->theirs = true;
}

/* One that is being made may be ours. */
static struct threads threads_but(int but)
{
	char buf[4096] __attribute__((aligned(8)));
	struct threads t = { .but = but };

	if (fm_thread_being_made() ||
	    fm_each_thread(buf, sizeof(buf), left_look_at, &t) ||
	    fm_thread_being_made())
		t = (struct threads){ .unsure = true };
	return t;
}

static _Atomic bool outlived; /* the main thread, by others */

/* Whoever looks has a thread made for it, which another who looks at the same
 * time is unsure of. */
static struct threads look_until_sure(int but)
{
	struct threads t = threads_but(but);

	for (int k = 0; t.unsure && !t.theirs && k < LOOKS; k++) {
		fm_sys_sleep_us(200);
		t = threads_but(but);
	}
	return t;
}

/* Only its main thread's state says of a process whether others have been left
 * alone: so that is looked at first. The status is that of the program's last
 * thread, which is 0 for any but the main one. */
bool fm_left_alone(int *ret_status)
{
	struct threads t;
	char state;
	const uint64_t status = fm_proc_stat("/proc/self/stat", STATUS, &state);

	if (state != 'Z')
		return false;
	*ret_status = atomic_load(&outlived) ? 0 : (int)(status >> 8 & 0xff);
	t = look_until_sure(fm_sys_getpid());
	if (t.theirs)
		atomic_store(&outlived, true);
	return !t.unsure && !t.theirs;
}

void fm_left_end_if_alone(void)
{
	int status;

	if (!(fm_sys_may_ask() || fm_thread_is_free()) ||
	    !fm_left_alone(&status))
		return;
	fm_life_stop();
	fm_sys1(SYS_exit_group, status);
}

bool fm_only_thread(void)
{
	const struct threads t = look_until_sure(fm_sys_gettid());

	return !t.unsure && !t.theirs;
}

static void left_reset(void)
{
	atomic_store(&outlived, false);
}

FM_LIFE(left, .level = FM_LIFE_MEMORY, .reset = left_reset)
