/* SPDX-License-Identifier: MIT */
/*
 * io_path.c - calls whose path argument may lie in managed memory. Such a
 * path is copied to the stack first: nothing stays pinned, and the copy is
 * limited to what the kernel would read.
 */
#include "guard.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdio.h>
#include <sys/inotify.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/time.h>
#include <sys/xattr.h>
#include <utime.h>

/*
 * RAW: the function is the system call of number `nr`, same arguments.
 * LATE: libc does more than that.
 * One row per call; `path` (or `a` and `b`) names the argument to copy.
 */
#define PATH1_(ret, fn, params, next, ...)                                 \
	FM_NEXT(fn)                                                        \
	FM_SLOW ret slow_##fn params                                       \
	{                                                                  \
		char copy[FM_PATH_BUF];                                    \
                                                                           \
		path = fm_path(path, copy);                                \
		return next;                                               \
	}                                                                  \
	FM_HOOK ret fn params                                              \
	{                                                                  \
		if (!fm_touches(path, 1))                                  \
			return next;                                       \
		return slow_##fn(__VA_ARGS__);                             \
	}
#define PATH1(ret, fn, nr, params, ...)                                    \
	PATH1_(ret, fn, params, FM_PASS(fn, nr, __VA_ARGS__), __VA_ARGS__)
#define PATH1_LATE(ret, fn, params, ...)                                   \
	PATH1_(ret, fn, params, FM_LATE(fn)(__VA_ARGS__), __VA_ARGS__)

#define PATH2_(ret, fn, params, next, ...)                                 \
	FM_NEXT(fn)                                                        \
	FM_SLOW ret slow_##fn params                                       \
	{                                                                  \
		char copy_a[FM_PATH_BUF], copy_b[FM_PATH_BUF];             \
                                                                           \
		a = fm_path(a, copy_a);                                    \
		b = fm_path(b, copy_b);                                    \
		return next;                                               \
	}                                                                  \
	FM_HOOK ret fn params                                              \
	{                                                                  \
		if (!fm_touches(a, 1) && !fm_touches(b, 1))                \
			return next;                                       \
		return slow_##fn(__VA_ARGS__);                             \
	}

/* The time of the last store is that of the store, not of its way to the file:
 * what has been stored is on it before the program says what time it was. */
FM_SLOW void stored_before(int dir, const char *path, int flags)
{
	struct fm_file *f;
	struct stat st;

	if (fm_sys4(SYS_newfstatat, dir, path ? path : "", &st,
		    path ? flags : AT_EMPTY_PATH))
		return;
	f = fm_file_by_stat(&st);
	if (!f)
		return;
	fm_file_flush(f, 0, 0);
	fm_file_put(f);
}

#define TIMES(dir, flags, call)                                            \
	((fm_looks() ? stored_before(dir, path, flags) : (void)0), (call))
#define PATH1_TIMES(fn, params, dir, flags, ...)                           \
	PATH1_(int, fn, params, TIMES(dir, flags, FM_LATE(fn)(__VA_ARGS__)),   \
	       __VA_ARGS__)

/* A name that comes or goes may be the message. */
#define WORD(call) (fm_ipc_before(), (int)fm_ipc_after(call))
#define PATH1_WORD(fn, nr, params, ...)                                    \
	PATH1_(int, fn, params, WORD(FM_PASS(fn, nr, __VA_ARGS__)), __VA_ARGS__)
#define PATH2_WORD(fn, nr, params, ...)                                    \
	PATH2_(int, fn, params, WORD(FM_PASS(fn, nr, __VA_ARGS__)), __VA_ARGS__)

#define P const char *path

/* clang-format off */
PATH1_WORD(access, SYS_access, (P, int mode), path, mode)
PATH1_WORD(faccessat, 439 /* faccessat2 */, (int dir, P, int mode, int flags),
      dir, path, mode, flags)
PATH1_LATE(int, eaccess, (P, int mode), path, mode)
PATH1_LATE(int, euidaccess, (P, int mode), path, mode)
PATH1(int, chdir, SYS_chdir, (P), path)
PATH1(int, chroot, SYS_chroot, (P), path)
PATH1(int, acct, SYS_acct, (P), path)
PATH1(int, chmod, SYS_chmod, (P, mode_t mode), path, mode)
PATH1_LATE(int, lchmod, (P, mode_t mode), path, mode)
PATH1_LATE(int, fchmodat, (int dir, P, mode_t mode, int flags),
	   dir, path, mode, flags)
PATH1(int, chown, SYS_chown, (P, uid_t uid, gid_t gid), path, uid, gid)
PATH1(int, lchown, SYS_lchown, (P, uid_t uid, gid_t gid), path, uid, gid)
PATH1(int, fchownat, SYS_fchownat,
      (int dir, P, uid_t uid, gid_t gid, int flags),
      dir, path, uid, gid, flags)
PATH1_WORD(mkdir, SYS_mkdir, (P, mode_t mode), path, mode)
PATH1_WORD(mkdirat, SYS_mkdirat, (int dir, P, mode_t mode), dir, path, mode)
PATH1_(int, mkfifo, (P, mode_t mode),
       WORD(FM_LATE(mkfifo)(path, mode)), path, mode)
PATH1_(int, mkfifoat, (int dir, P, mode_t mode),
       WORD(FM_LATE(mkfifoat)(dir, path, mode)), dir, path, mode)
PATH1_WORD(mknod, SYS_mknod, (P, mode_t mode, dev_t dev), path, mode, dev)
PATH1_WORD(mknodat, SYS_mknodat, (int dir, P, mode_t mode, dev_t dev),
      dir, path, mode, dev)
PATH1_WORD(rmdir, SYS_rmdir, (P), path)
PATH1_WORD(unlink, SYS_unlink, (P), path)
PATH1_WORD(unlinkat, SYS_unlinkat, (int dir, P, int flags), dir, path, flags)
PATH1_(int, remove, (P), WORD(FM_LATE(remove)(path)), path)
PATH1_TIMES(utime, (P, const struct utimbuf *t), AT_FDCWD, 0, path, t)
PATH1_TIMES(utimes, (P, const struct timeval t[2]), AT_FDCWD, 0, path, t)
PATH1_TIMES(lutimes, (P, const struct timeval t[2]),
	    AT_FDCWD, AT_SYMLINK_NOFOLLOW, path, t)
PATH1_TIMES(futimesat, (int dir, P, const struct timeval t[2]),
	    dir, 0, dir, path, t)
PATH1_(int, utimensat, (int dir, P, const struct timespec t[2], int flags),
       TIMES(dir, flags,
	     FM_PASS(utimensat, SYS_utimensat, dir, path, t, flags)),
       dir, path, t, flags)
PATH1(int, removexattr, SYS_removexattr, (P, const char *name), path, name)
PATH1(int, lremovexattr, SYS_lremovexattr, (P, const char *name), path, name)
PATH1(int, inotify_add_watch, SYS_inotify_add_watch,
      (int fd, P, uint32_t mask), fd, path, mask)
PATH1_LATE(DIR *, opendir, (P), path)
PATH1_LATE(int, statvfs, (P, struct statvfs *buf), path, buf)
PATH1_LATE(long, pathconf, (P, int name), path, name)
#undef P

#define A const char *a
#define B const char *b
PATH2_WORD(rename, SYS_rename, (A, B), a, b)
PATH2_WORD(renameat, SYS_renameat, (int da, A, int db, B), da, a, db, b)
PATH2_WORD(renameat2, SYS_renameat2,
      (int da, A, int db, B, unsigned int flags), da, a, db, b, flags)
PATH2_WORD(link, SYS_link, (A, B), a, b)
PATH2_WORD(linkat, SYS_linkat, (int da, A, int db, B, int flags),
      da, a, db, b, flags)
PATH2_WORD(symlink, SYS_symlink, (A, B), a, b)
PATH2_WORD(symlinkat, SYS_symlinkat, (A, int db, B), a, db, b)
/* clang-format on */

FM_ALIAS(statvfs)
int statvfs64(const char *path, struct statvfs64 *buf) __THROW
	__nonnull((1, 2));

/* ---- a path in, an object out ------------------------------------------- */

extern void __chk_fail(void) __attribute__((noreturn));
ssize_t __readlink_chk(const char *path, char *buf, size_t n, size_t room);
ssize_t __readlinkat_chk(int dir, const char *path, char *buf, size_t n,
			 size_t room);

/* `out` and `size` describe what comes back; `got` is how much of it. */
#define OUT_(ret, fn, params, copy_path, out, size, got, next, ...)        \
	FM_NEXT(fn)                                                        \
	FM_SLOW ret slow_##fn params                                       \
	{                                                                  \
		char copy[FM_PATH_BUF] __attribute__((unused));            \
		struct fm_object b;                                        \
		ret r;                                                     \
                                                                           \
		copy_path;                                                 \
		out = fm_object(&b, out, size, FM_COPY_OUT);               \
		r = next;                                                  \
		if (!fm_object_end(&b, got))                               \
			return (ret)fm_result(-EFAULT);                    \
		return r;                                                  \
	}                                                                  \
	FM_HOOK ret fn params                                              \
	{                                                                  \
		if (!fm_touches(path, 1) && !fm_touches(out, size))        \
			return next;                                       \
		return slow_##fn(__VA_ARGS__);                             \
	}
#define OUT(ret, fn, nr, params, out, size, got, ...)                      \
	OUT_(ret, fn, params, path = fm_path(path, copy), out, size, got,  \
	     FM_PASS(fn, nr, __VA_ARGS__), __VA_ARGS__)

/* What it says of the file may be the message, too. */
#define OUT_SEEN(fn, nr, params, out, size, got, ...)                      \
	OUT_(int, fn, params, path = fm_path(path, copy), out, size, got,  \
	     (int)fm_ipc_after(FM_PASS(fn, nr, __VA_ARGS__)), __VA_ARGS__)

#define WHOLE (r == 0 ? sizeof(*buf) : 0)
#define COUNT (r > 0 ? (size_t)r : 0)

/* clang-format off */
OUT_SEEN(stat, SYS_stat, (const char *path, struct stat *buf),
    buf, sizeof(*buf), WHOLE, path, buf)
OUT_SEEN(lstat, SYS_lstat, (const char *path, struct stat *buf),
    buf, sizeof(*buf), WHOLE, path, buf)
OUT_SEEN(fstatat, SYS_newfstatat,
    (int dir, const char *path, struct stat *buf, int flags),
    buf, sizeof(*buf), WHOLE, dir, path, buf, flags)
OUT_SEEN(statx, SYS_statx,
    (int dir, const char *path, int flags, unsigned mask, struct statx *buf),
    buf, sizeof(*buf), WHOLE, dir, path, flags, mask, buf)
OUT(int, statfs, SYS_statfs, (const char *path, struct statfs *buf),
    buf, sizeof(*buf), WHOLE, path, buf)
OUT(ssize_t, readlink, SYS_readlink, (const char *path, char *buf, size_t n),
    buf, n, COUNT, path, buf, n)
OUT(ssize_t, readlinkat, SYS_readlinkat,
    (int dir, const char *path, char *buf, size_t n),
    buf, n, COUNT, dir, path, buf, n)
OUT(ssize_t, getxattr, SYS_getxattr,
    (const char *path, const char *name, void *buf, size_t n),
    buf, n, COUNT, path, name, buf, n)
OUT(ssize_t, lgetxattr, SYS_lgetxattr,
    (const char *path, const char *name, void *buf, size_t n),
    buf, n, COUNT, path, name, buf, n)
OUT(ssize_t, listxattr, SYS_listxattr, (const char *path, char *buf, size_t n),
    buf, n, COUNT, path, buf, n)
OUT(ssize_t, llistxattr, SYS_llistxattr,
    (const char *path, char *buf, size_t n),
    buf, n, COUNT, path, buf, n)
/* clang-format on */

FM_ALIAS(stat)
int stat64(const char *path, struct stat64 *buf) __THROW __nonnull((1, 2));
FM_ALIAS(lstat)
int lstat64(const char *path, struct stat64 *buf) __THROW __nonnull((1, 2));
FM_ALIAS(fstatat)
int fstatat64(int dir, const char *path, struct stat64 *buf, int flags) __THROW
	__nonnull((2, 3));
FM_ALIAS(statfs)
int statfs64(const char *path, struct statfs64 *buf) __THROW __nonnull((1, 2));
FM_ALIAS(statfs)
int __statfs(const char *path, struct statfs *buf) __THROW __nonnull((1, 2));

FM_HOOK ssize_t __readlink_chk(const char *path, char *buf, size_t n,
			       size_t room)
{
	if (n > room)
		__chk_fail();
	return readlink(path, buf, n);
}

FM_HOOK ssize_t __readlinkat_chk(int dir, const char *path, char *buf,
				 size_t n, size_t room)
{
	if (n > room)
		__chk_fail();
	return readlinkat(dir, path, buf, n);
}

/* The value goes in: managed values are copied, and names. */
#define SETXATTR(fn, nr)                                                   \
	FM_NEXT(fn)                                                        \
	FM_HOOK int fn(const char *path, const char *name,                 \
		       const void *val, size_t n, int flags)               \
	{                                                                  \
		char copy[FM_PATH_BUF];                                    \
		struct fm_object b;                                        \
		int r;                                                     \
                                                                           \
		if (!fm_touches(path, 1) && !fm_touches(val, n))           \
			return FM_PASS(fn, nr, path, name, val, n, flags); \
		path = fm_path(path, copy);                                \
		val = fm_object(&b, val, n, FM_COPY_IN);                   \
		r = FM_PASS(fn, nr, path, name, val, n, flags);            \
		fm_object_end(&b, 0);                                      \
		return r;                                                  \
	}
SETXATTR(setxattr, SYS_setxattr)
SETXATTR(lsetxattr, SYS_lsetxattr)

/* Programs built before glibc 2.33 call these for stat. */
int __xstat(int ver, const char *path, struct stat *buf);
int __lxstat(int ver, const char *path, struct stat *buf);
int __fxstatat(int ver, int dir, const char *path, struct stat *buf,
	       int flags);
int __xstat64(int ver, const char *path, struct stat64 *buf);
int __lxstat64(int ver, const char *path, struct stat64 *buf);
int __fxstatat64(int ver, int dir, const char *path, struct stat64 *buf,
		 int flags);

#define OUT_LATE(ret, fn, params, out, size, got, ...)                     \
	OUT_(ret, fn, params, path = fm_path(path, copy), out, size, got,  \
	     FM_LATE(fn)(__VA_ARGS__), __VA_ARGS__)

/* clang-format off */
OUT_LATE(int, __xstat,
    (int ver, const char *path, struct stat *buf),
    buf, sizeof(*buf), WHOLE, ver, path, buf)
OUT_LATE(int, __lxstat,
    (int ver, const char *path, struct stat *buf),
    buf, sizeof(*buf), WHOLE, ver, path, buf)
OUT_LATE(int, __fxstatat,
    (int ver, int dir, const char *path, struct stat *buf, int flags),
    buf, sizeof(*buf), WHOLE, ver, dir, path, buf, flags)
/* clang-format on */
FM_ALIAS(__xstat) int __xstat64(int ver, const char *path, struct stat64 *buf);
FM_ALIAS(__lxstat)
int __lxstat64(int ver, const char *path, struct stat64 *buf);
FM_ALIAS(__fxstatat)
int __fxstatat64(int ver, int dir, const char *path, struct stat64 *buf,
		 int flags);
