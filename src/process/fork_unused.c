/* SPDX-License-Identifier: MIT */
/*
 * fork_unused.c - a fork before anything of ours was in use: the child has
 * nothing to forget, and is not to touch the pages where that would stand. A
 * shell has thousands of them.
 */
#include "base/life.h"
#include "base/lock.h"
#include "engine.h"
#include "file/file.h"

/* No other thread may be about to begin with it, either. What children say of
 * a file they say once, also when the parent never mapped it. */
bool fm_fork_unused(void)
{
	if (!fm_alone() || atomic_load(&fm_used))
		return false;
	fm_server_reason_share();
	return true;
}

void fm_fork_child_unused(void)
{
	fm_life_child();
}
