/* SPDX-License-Identifier: MIT */
/*
 * creds.c - the program changes its user or groups: libc does it to each thread
 * that it knows of, the engine to its own (src/base/creds.h). syscall() changes
 * one thread, which is all of a program that has one.
 */
#include "call_copy.h"

#include <grp.h>
#include <linux/capability.h>

int capset(struct __user_cap_header_struct *h,
	   const struct __user_cap_data_struct *data);

FM_NEXT(setuid)
FM_NEXT(setgid)
FM_NEXT(seteuid)
FM_NEXT(setegid)
FM_NEXT(setreuid)
FM_NEXT(setregid)
FM_NEXT(setresuid)
FM_NEXT(setresgid)
FM_NEXT(setgroups)
FM_NEXT(initgroups)
FM_NEXT(capset)

/* A child of vfork changes itself only. */
static int changed(int r)
{
	if (r == 0 && fm_thread_any() && fm_whoami() == FM_ME)
		fm_creds_changed();
	return r;
}

FM_HOOK int setuid(uid_t id)
{
	return changed(FM_LATE(setuid)(id));
}

FM_HOOK int setgid(gid_t id)
{
	return changed(FM_LATE(setgid)(id));
}

FM_HOOK int seteuid(uid_t id)
{
	return changed(FM_LATE(seteuid)(id));
}

FM_HOOK int setegid(gid_t id)
{
	return changed(FM_LATE(setegid)(id));
}

FM_HOOK int setreuid(uid_t real, uid_t effective)
{
	return changed(FM_LATE(setreuid)(real, effective));
}

FM_HOOK int setregid(gid_t real, gid_t effective)
{
	return changed(FM_LATE(setregid)(real, effective));
}

FM_HOOK int setresuid(uid_t real, uid_t effective, uid_t saved)
{
	return changed(FM_LATE(setresuid)(real, effective, saved));
}

FM_HOOK int setresgid(gid_t real, gid_t effective, gid_t saved)
{
	return changed(FM_LATE(setresgid)(real, effective, saved));
}

FM_HOOK int setgroups(size_t n, const gid_t *groups)
{
	return changed(FM_CALL_NEXT(FM_LATE(setgroups), SYS_setgroups, n,
				    groups, 0, 0));
}

FM_HOOK int initgroups(const char *user, gid_t group)
{
	return changed(FM_LATE(initgroups)(user, group));
}

/* Of the calling thread, in a program of several. */
static int dropped(int r)
{
	if (!atomic_load(&fm_threads))
		return changed(r);
	if (r == 0 && fm_thread_any() && fm_whoami() == FM_ME)
		fm_creds_dropped();
	return r;
}

FM_HOOK int capset(struct __user_cap_header_struct *h,
		   const struct __user_cap_data_struct *data)
{
	return dropped(FM_CALL_NEXT(next_capset, SYS_capset, h, data, 0, 0));
}

long fm_syscall_creds(long nr, long a, long b, long c);
long fm_syscall_creds(long nr, long a, long b, long c)
{
	long r = fm_call_next(nr, NULL, a, b, c, 0);

	if (nr == SYS_capset)
		return dropped((int)r);
	return atomic_load(&fm_threads) ? r : changed((int)r);
}
