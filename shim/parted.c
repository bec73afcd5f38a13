/* SPDX-License-Identifier: MIT */
/*
 * parted.c - calls by which a thread leaves what it shares with the others. A
 * program with one thread shares with the engine's only: there is nothing that
 * it would have to leave, and so it stays with them.
 */
#include "shim.h"

#include <sched.h>

FM_NEXT(unshare)

_Atomic bool fm_files_shared;

/* Tables that the engine's threads share with the caller, and nobody else. */
static bool only_ours(void)
{
	return !atomic_load(&fm_files_shared) && fm_only_thread();
}

static bool is_me(void)
{
	return fm_on() && fm_whoami() == FM_ME;
}

int fm_part_files(int flags, int which)
{
	if (!(flags & which) || !is_me())
		return flags;
	if (only_ours())
		return flags & ~which;
	fm_table_parts();
	return flags;
}

int fm_do_unshare(bool raw, int flags)
{
	int left = fm_part_files(flags, CLONE_FILES), r;

	if (left & CLONE_FS && is_me() && only_ours())
		left &= ~CLONE_FS;
	r = FM_PASS_VIA(raw, unshare, SYS_unshare, left);
	if (r < 0 && left & CLONE_FILES)
		fm_table_stays();
	return r;
}

FM_HOOK int unshare(int flags)
{
	return fm_do_unshare(false, flags);
}
