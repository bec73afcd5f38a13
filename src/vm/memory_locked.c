/* SPDX-License-Identifier: MIT */
/* memory_locked.c - is new memory locked, by mlockall(MCL_FUTURE)? */
#include <stdatomic.h>
#include <sys/mman.h>

#include "base/life.h"
#include "base/lock.h"
#include "base/sys.h"
#include "base/types.h"
#include "mapops.h"

static _Atomic bool all_locked;

void fm_memory_lock(bool yes)
{
	fm_use_begins();
	atomic_store(&all_locked, yes);
}

bool fm_memory_locked(void)
{
	return atomic_load_explicit(&all_locked, memory_order_relaxed);
}

bool fm_memory_look(void)
{
	char *p = fm_sys_anon(FM_PAGE);

	if (p && fm_sys_madvise(p, FM_PAGE, MADV_DONTNEED) == -EINVAL)
		atomic_store(&all_locked, true);
	if (p)
		fm_sys_munmap(p, FM_PAGE);
	return fm_memory_locked();
}

/* Locks are not inherited by fork. */
static void memory_locked_forked(void)
{
	atomic_store(&all_locked, false);
}

FM_LIFE(memory_locked, .level = FM_LIFE_HELPERS,
	.forked = memory_locked_forked)
