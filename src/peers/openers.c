/* SPDX-License-Identifier: MIT */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>

#include "base/apart.h"
#include "base/sys.h"
#include "openers.h"

static bool openers_is_open(const struct fm_openers *o, int k)
{
	return atomic_load(&o->of[k].open) > 0;
}

static bool is_alive(int pid)
{
	long r = pid ? fm_sys2(SYS_kill, pid, 0) : 0;

	return !r || r == -EPERM;
}

/* The process's, or the first free one, or -1. */
static int openers_slot_of(const struct fm_openers *o, int pid)
{
	int free = -1;

	for (int k = FM_OPENERS - 1; k >= 0; k--) {
		if (!openers_is_open(o, k))
			free = k;
		else if (atomic_load(&o->of[k].pid) == pid)
			return k;
	}
	return free;
}

/* Of a process that has ended, emptied. */
static int slot_of_dead(struct fm_openers *o)
{
	int k = FM_OPENERS - 1;

	while (k >= 0 && is_alive(atomic_load(&o->of[k].pid)))
		k--;
	if (k >= 0)
		atomic_store(&o->of[k].open, 0);
	return k;
}

void fm_openers_opened(struct fm_openers *o, int pid)
{
	int k = openers_slot_of(o, pid);

	if (k < 0)
		k = slot_of_dead(o);
	if (k < 0) {
		atomic_store(&o->crowd, true);
		return;
	}
	atomic_store(&o->of[k].pid, pid);
	atomic_fetch_add(&o->of[k].open, 1);
}

void fm_openers_closed(struct fm_openers *o, int pid)
{
	int k = openers_slot_of(o, pid);

	if (k >= 0 && openers_is_open(o, k))
		atomic_fetch_sub(&o->of[k].open, 1);
}

void fm_openers_forget(struct fm_openers *o)
{
	for (int k = 0; k < FM_OPENERS; k++) {
		atomic_store(&o->of[k].open, 0);
		atomic_store(&o->of[k].pid, 0);
	}
	atomic_store(&o->crowd, false);
}

int fm_openers_pids(const struct fm_openers *o, int pids[FM_OPENERS])
{
	int n = 0;

	for (int k = 0; k < FM_OPENERS; k++) {
		pids[n] = atomic_load(&o->of[k].pid);
		if (!pids[n] && openers_is_open(o, k))
			return 0;
		n += pids[n] != 0;
	}
	return atomic_load(&o->crowd) ? 0 : n;
}

/* Its descriptors, so that the look that has just found nothing says so. */
struct attempt {
	char path[32];
	int fd;
};

static void try_to_look(void *arg)
{
	struct attempt *a = arg;

	a->fd = fm_sys_open(a->path, O_RDONLY | O_DIRECTORY, 0);
	if (a->fd >= 0)
		fm_sys_close(a->fd);
}

static bool openers_may_look(int pid)
{
	struct attempt a;

	snprintf(a.path, sizeof(a.path), "/proc/%d/fd", pid);
	fm_apart_from_fds(try_to_look, &a);
	return a.fd >= 0;
}

bool fm_openers_hidden(const struct fm_openers *o)
{
	for (int k = 0; k < FM_OPENERS; k++) {
		int pid = atomic_load(&o->of[k].pid);

		if (pid && openers_is_open(o, k) && is_alive(pid) &&
		    !openers_may_look(pid))
			return true;
	}
	return false;
}

bool fm_openers_unnamed(const struct fm_openers *o)
{
	for (int k = 0; k < FM_OPENERS; k++)
		if (openers_is_open(o, k) && !atomic_load(&o->of[k].pid))
			return true;
	return atomic_load(&o->crowd);
}
