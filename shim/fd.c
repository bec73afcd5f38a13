/* SPDX-License-Identifier: MIT */
/*
 * fd.c - programs close every descriptor they can name; the engine's few (at
 * high numbers) must survive. To the program they do not exist. These names
 * are async-signal-safe: nothing here takes a lock of libc or allocates.
 *
 * To close is to bring word: it gives up locks, and is the end of a pipe.
 */
#include "guard.h"

#include <limits.h>
#include <linux/close_range.h>

FM_NEXT(close)
FM_NEXT(close_range)
FM_NEXT(closefrom)
FM_NEXT(dup2)
FM_NEXT(dup3)


static bool fd_ours(int fd)
{
	return fm_on() && fd >= 0 && fm_fd_is_ours(fd);
}

static void closing(int fd)
{
	fm_seen_fd_closed();
	fm_close_begins(fd);
}

int fm_do_close(bool raw, int fd)
{
	int r;

	if (fd_ours(fd))
		return (int)fm_result(-EBADF);
	fm_ipc_before();
	closing(fd);
	r = FM_PASS_VIA(raw, close, SYS_close, fd);
	fm_close_ends(fd);
	return r;
}

/* The number is taken and cannot be given up. EBUSY is what Linux documents
 * for dup2 that meets an open in progress on that number. */
static int dup_check(int from, int to)
{
	if (fd_ours(from))
		return -EBADF;
	return fd_ours(to) ? -EBUSY : 0;
}

FM_HOOK int dup2(int from, int to)
{
	int r = dup_check(from, to);

	if (r)
		return (int)fm_result(r);
	fm_ipc_before();
	closing(to);
	r = FM_PASS(dup2, __NR_dup2, from, to);
	fm_close_ends(to);
	return r;
}

FM_DO_ALIAS(dup2, __dup2)

FM_HOOK int dup3(int from, int to, int flags)
{
	int r = dup_check(from, to);

	if (r)
		return (int)fm_result(r);
	fm_ipc_before();
	closing(to);
	r = FM_PASS(dup3, SYS_dup3, from, to, flags);
	fm_close_ends(to);
	return r;
}

static int close_piece(unsigned int first, unsigned int last, int flags)
{
	if (first > last)
		return 0;
	return (int)fm_syscall(SYS_close_range, first, last, flags);
}

/* The pieces between our descriptors. With CLOSE_RANGE_UNSHARE the first
 * piece unshares; the flag does no harm on the later ones. */
static int close_around(unsigned int first, unsigned int last, int flags)
{
	int fd, r;

	if (first > INT_MAX) /* the kernel has no such number */
		return close_piece(first, last, flags);
	while ((fd = fm_fd_next((int)first)) >= 0 && (unsigned int)fd <= last) {
		r = (unsigned int)fd == first ?
			    0 : close_piece(first, (unsigned int)fd - 1, flags);
		if (r < 0)
			return r;
		first = (unsigned int)fd + 1;
	}
	return close_piece(first, last, flags);
}

static int close_many(bool raw, unsigned int first, unsigned int last,
		      int flags)
{
	/* Setting close-on-exec on ours changes nothing, and a bad range or
	 * flag is for the kernel to refuse. */
	if (!fm_on() || first > last || (flags & CLOSE_RANGE_CLOEXEC) ||
	    (flags & ~(int)CLOSE_RANGE_UNSHARE))
		return FM_PASS_VIA(raw, close_range, SYS_close_range, first,
				   last, flags);
	return (int)fm_result(close_around(first, last, flags));
}

int fm_do_close_range(bool raw, unsigned int first, unsigned int last,
		      int flags)
{
	bool told;
	int r;

	flags = fm_part_files(flags, CLOSE_RANGE_UNSHARE, &told);
	if (!(flags & CLOSE_RANGE_CLOEXEC)) {
		fm_ipc_before();
		closing(FM_ALL_FDS);
	}
	r = close_many(raw, first, last, flags);
	if (!(flags & CLOSE_RANGE_CLOEXEC))
		fm_close_ends(FM_ALL_FDS);
	if (r < 0 && told)
		fm_table_stays();
	return r;
}

/* Kernels before 5.9 have no close_range; libc then walks /proc, and so it
 * may when we have no descriptor to protect. */
FM_HOOK void closefrom(int low)
{
	fm_ipc_before();
	closing(FM_ALL_FDS);
	if (!fm_on() || fm_fd_next(0) < 0)
		FM_LATE(closefrom)(low);
	else
		close_around(low < 0 ? 0 : (unsigned int)low, ~0u, 0);
	fm_close_ends(FM_ALL_FDS);
}
