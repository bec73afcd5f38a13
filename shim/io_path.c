/* SPDX-License-Identifier: MIT */
/*
 * io_path.c - calls that set the times of a file. The time of the last store is
 * that of the store, not of its way to the file: what has been stored is on it
 * before the program says what time it was.
 */
#include "call_copy.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <utime.h>

FM_SLOW void stored_before(int dir, const char *path, int flags)
{
	char copy[FM_PATH_BUF];
	struct fm_file *f;
	struct stat st;

	path = fm_path(path, copy);
	if (fm_sys4(SYS_newfstatat, dir, path ? path : "", &st,
		    path ? flags : AT_EMPTY_PATH))
		return;
	f = fm_file_by_stat(&st);
	if (!f)
		return;
	fm_file_flush(f, 0, 0);
	fm_file_put(f);
}

static inline void times_set(int dir, const char *path, int flags)
{
	if (fm_looks())
		stored_before(dir, path, flags);
}

FM_FIRST(int, utime, (const char *path, const struct utimbuf *t),
	 times_set(AT_FDCWD, path, 0),
	 FM_CALL_NEXT(FM_BEHIND(utime), __NR_utime, path, t, 0, 0))
FM_FIRST(int, utimes, (const char *path, const struct timeval t[2]),
	 times_set(AT_FDCWD, path, 0),
	 FM_CALL_NEXT(FM_BEHIND(utimes), __NR_utimes, path, t, 0, 0))
/* Its arguments are where those of utimes are. */
FM_FIRST(int, lutimes, (const char *path, const struct timeval t[2]),
	 times_set(AT_FDCWD, path, AT_SYMLINK_NOFOLLOW),
	 FM_CALL_NEXT(FM_LATE(lutimes), __NR_utimes, path, t, 0, 0))
FM_FIRST(int, futimesat, (int dir, const char *path, const struct timeval t[2]),
	 times_set(dir, path, 0),
	 FM_CALL_NEXT(FM_BEHIND(futimesat), __NR_futimesat, dir, path, t, 0))
FM_FIRST(int, utimensat, (int dir, const char *path,
			  const struct timespec t[2], int flags),
	 times_set(dir, path, flags),
	 FM_CALL_NEXT(FM_FOUND(utimensat), SYS_utimensat, dir, path, t, flags))
