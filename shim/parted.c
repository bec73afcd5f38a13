/* SPDX-License-Identifier: MIT */
/*
 * parted.c - calls by which a thread leaves what it shares with the others. A
 * program with one thread shares with the engine's only: there is nothing that
 * it would have to leave, and so it stays with them.
 */
#include "shim.h"

#include <sched.h>

FM_NEXT(unshare)
FM_NEXT(setns)

#define NS_GET_NSTYPE 0xb703 /* linux/nsfs.h, Linux 4.11 */
#ifndef CLONE_NEWTIME
#define CLONE_NEWTIME 0x80
#endif
/* Then this process makes no thread any more, and a process in its memory would
 * be the first one of the namespace. */
#define FOR_CHILDREN (CLONE_NEWPID | CLONE_NEWTIME)
/* Refused where there are several threads, or some of these share with others.
 */
#define WANTS_ONE                                                         \
	(CLONE_NEWUSER | CLONE_NEWNS | CLONE_NEWTIME | CLONE_VM |         \
	 CLONE_SIGHAND | CLONE_THREAD)

_Atomic bool fm_files_shared;

/* Tables that the engine's threads share with the caller, and nobody else. */
static bool only_ours(void)
{
	return !atomic_load(&fm_files_shared) && fm_only_thread();
}

static bool parted_is_me(void)
{
	return fm_on() && fm_whoami() == FM_ME;
}

int fm_part_files(int flags, int which, bool *ret_told)
{
	*ret_told = false;
	if (!(flags & which) || !parted_is_me())
		return flags;
	if (only_ours())
		return flags & ~which;
	fm_table_parts();
	*ret_told = true;
	return flags;
}

/* Before a call with these flags. */
static void parted_before(int flags)
{
	fm_before_less();
	if (flags & FOR_CHILDREN && parted_is_me() && fm_thread_any() &&
	    fm_only_thread())
		fm_engine_rest();
}

/* After it. True: again, there was somebody but the program's one thread. */
static bool parted_again(int r, int flags)
{
	const int saved = errno;
	bool yes = false;

	if (r < 0 && flags & WANTS_ONE && (errno == EINVAL || errno == EUSERS))
		yes = parted_is_me() && fm_thread_any() && fm_only_thread() &&
		      !fm_engine_rest();
	else if (!r && flags & FOR_CHILDREN && parted_is_me())
		fm_engine_no_threads();
	errno = saved;
	return yes;
}

static int type_of(int fd)
{
	const int type = (int)fm_sys2(SYS_ioctl, fd, NS_GET_NSTYPE);

	return type < 0 ? 0 : type;
}

/* Where it has no threads of ours to end, what it was is asked afterwards. */
int fm_do_setns(bool raw, int fd, int type)
{
	const bool ours = parted_is_me() && fm_thread_any();
	const int saved = errno;
	int r, flags = !type && ours ? type_of(fd) : type;

	parted_before(flags);
	do {
		r = FM_PASS_VIA(raw, setns, SYS_setns, fd, type);
		if (!r && !type && !ours && parted_is_me())
			flags = type_of(fd);
	} while (parted_again(r, flags));
	if (!r)
		errno = saved;
	return r;
}

int fm_do_unshare(bool raw, int flags)
{
	const int saved = errno;
	bool told;
	int left = fm_part_files(flags, CLONE_FILES, &told), r;

	if (left & CLONE_FS && parted_is_me() && only_ours())
		left &= ~CLONE_FS;
	parted_before(left);
	do
		r = FM_PASS_VIA(raw, unshare, SYS_unshare, left);
	while (parted_again(r, left));
	if (r < 0 && told)
		fm_table_stays();
	if (!r)
		errno = saved;
	return r;
}
