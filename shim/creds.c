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

FM_NEXT(setgroups)
FM_NEXT(capset)

/* A child of vfork changes itself only. */
static int creds_changed(int r)
{
	if (r == 0 && fm_thread_any() && fm_whoami() == FM_ME)
		fm_creds_changed();
	return r;
}

#define CHANGES(fn, params, ...)                                \
	FM_NEXT(fn)                                             \
	FM_HOOK int fn params                                   \
	{                                                       \
		fm_before_less();                               \
		return creds_changed(FM_LATE(fn)(__VA_ARGS__)); \
	}

CHANGES(setuid, (uid_t id), id)
CHANGES(setgid, (gid_t id), id)
CHANGES(seteuid, (uid_t id), id)
CHANGES(setegid, (gid_t id), id)
CHANGES(setreuid, (uid_t real, uid_t effective), real, effective)
CHANGES(setregid, (gid_t real, gid_t effective), real, effective)
CHANGES(setresuid, (uid_t real, uid_t effective, uid_t saved), real, effective,
	saved)
CHANGES(setresgid, (gid_t real, gid_t effective, gid_t saved), real, effective,
	saved)
CHANGES(initgroups, (const char *user, gid_t group), user, group)

FM_HOOK int setgroups(size_t n, const gid_t *groups)
{
	fm_before_less();
	return creds_changed(FM_CALL_NEXT(FM_LATE(setgroups), SYS_setgroups, n,
					  groups, 0, 0));
}

/* Of the calling thread, in a program of several. */
static int dropped(int r)
{
	if (!atomic_load(&fm_threads))
		return creds_changed(r);
	if (r == 0 && fm_thread_any() && fm_whoami() == FM_ME)
		fm_creds_dropped();
	return r;
}

FM_HOOK int capset(struct __user_cap_header_struct *h,
		   const struct __user_cap_data_struct *data)
{
	fm_before_less();
	return dropped(FM_CALL_NEXT(FM_FOUND(capset), SYS_capset, h, data, 0,
				    0));
}

long fm_syscall_creds(long nr, long a, long b, long c);
long fm_syscall_creds(long nr, long a, long b, long c)
{
	long r;

	fm_before_less();
	r = fm_call_next(nr, NULL, a, b, c, 0);
	if (nr == SYS_capset)
		return dropped((int)r);
	return atomic_load(&fm_threads) ? r : creds_changed((int)r);
}
