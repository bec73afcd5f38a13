/* SPDX-License-Identifier: MIT */
/*
 * peers_bell.c - who the watcher is (peers_watch.c), and what wakes it: an
 * inotify watch on each place of the registry, to which who wants to be heard
 * writes (fm_registry_notify); for threads of ours an eventfd.
 */
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>

#include "base/fds.h"
#include "base/proc.h"
#include "base/sys.h"
#include "peers_priv.h"

static int bell = -1;
static int nudge = -1; /* there is something to judge later on */
static int bell_wd[FM_PLACES];
static _Atomic bool bell_deaf; /* a place is not heard: ask */
static int self; /* our process id, while started */
static _Atomic uint32_t thread_id; /* futex; 0: not known yet */
static _Atomic bool begun;

int fm_bell_start(void)
{
	const long fd = fm_sys1(SYS_inotify_init1, IN_CLOEXEC | IN_NONBLOCK);

	bell = fd < 0 ? -1 : fm_fd_raise((int)fd);
	memset(bell_wd, 0, sizeof(bell_wd));
	atomic_store(&bell_deaf, bell < 0);
	self = fm_sys_getpid();
	return bell;
}

int fm_nudge_start(void)
{
	const long fd = fm_sys2(SYS_eventfd2, 0, EFD_CLOEXEC | EFD_NONBLOCK);

	nudge = fd < 0 ? -1 : fm_fd_raise((int)fd);
	return nudge;
}

bool fm_bell_deaf(void)
{
	return atomic_load(&bell_deaf);
}

void fm_bell_lost(void)
{
	atomic_store(&bell_deaf, true);
}

void fm_bell_hear(unsigned k, int place)
{
	char path[FM_PROC_FD];

	if (bell < 0)
		return;
	if (bell_wd[k] > 0)
		fm_sys2(SYS_inotify_rm_watch, bell, bell_wd[k]);
	fm_proc_fd(path, place);
	bell_wd[k] = (int)fm_sys3(SYS_inotify_add_watch, bell, path,
				  IN_MODIFY | IN_ATTRIB | IN_DELETE_SELF |
					  IN_MOVE_SELF);
	if (bell_wd[k] < 0)
		atomic_store(&bell_deaf, true);
}

void fm_bell_empty(void)
{
	static char buf[4096];

	while (fm_sys_is_anon(bell) &&
	       fm_sys3(SYS_read, bell, buf, sizeof(buf)) > 0)
		;
}

void fm_watch_nudge(void)
{
	const uint64_t one = 1;

	if (fm_sys_is_anon(nudge))
		fm_sys3(SYS_write, nudge, &one, sizeof(one));
}

void fm_nudge_empty(void)
{
	uint64_t n;

	if (fm_sys_is_anon(nudge))
		fm_sys3(SYS_read, nudge, &n, sizeof(n));
}

bool fm_watch_is_us(void)
{
	return fm_sys_getpid() == self;
}

void fm_watch_runs(bool yes)
{
	atomic_store(&begun, yes);
}

void fm_watch_here(void)
{
	atomic_store(&thread_id, (uint32_t)fm_sys0(SYS_gettid));
	fm_futex_wake(&thread_id, 1);
}

/* The first file is asked for when the thread has just been made: to wait for
 * it is less than the look into /proc that the answer saves. */
int fm_watch_tid(void)
{
	struct timespec most = { 0, 10000000 };

	if (atomic_load(&begun) && !atomic_load(&thread_id))
		fm_futex_wait(&thread_id, 0, &most);
	return (int)atomic_load(&thread_id);
}

void fm_bell_reset(void)
{
	fm_fd_drop(bell);
	fm_fd_drop(nudge);
	bell = nudge = -1;
	atomic_store(&thread_id, 0);
	atomic_store(&begun, false);
}
