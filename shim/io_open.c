/* SPDX-License-Identifier: MIT */
/* io_open.c - the open family: paths in managed memory, and O_TRUNC. */
#include "guard.h"
#include "io_backing.h"

#include <fcntl.h>
#include <linux/openat2.h>
#include <pthread.h>

FM_NEXT(open)
FM_NEXT(openat)
FM_NEXT(creat)

extern int __open_2(const char *path, int flags);
extern int __openat_2(int dirfd, const char *path, int flags);
FM_NEXT(__open_2)
FM_NEXT(__openat_2)

#define NEEDS_MODE(flags) \
	(((flags) & O_CREAT) || ((flags) & O_TMPFILE) == O_TMPFILE)

/* `at`: the program called openat. Kept apart so that another preloaded
 * library behind us sees the name that was called. */
static int call_open(bool raw, bool at, int dirfd, const char *path, int flags,
		     mode_t mode)
{
	if (at)
		return FM_PASS_VIA(raw, openat, SYS_openat, dirfd, path, flags,
				   mode);
	return FM_PASS_VIA(raw, open, __NR_open, path, flags, mode);
}

FM_SLOW int open_slow(bool raw, bool at, int dirfd, const char *path, int flags,
		      mode_t mode)
{
	char copy[FM_PATH_BUF];
	struct fm_change c;
	int r;

	if (!raw)
		pthread_testcancel();
	fm_ipc_before();
	path = fm_path(path, copy);
	if (!(flags & O_TRUNC) || (flags & O_PATH) ||
	    !fm_change_path(&c, dirfd, path))
		return (int)fm_ipc_after(
			call_open(raw, at, dirfd, path, flags, mode));
	fm_change_serial(&c);
	r = fm_change_lock_cut(&c, 0);
	if (r == 0)
		r = call_open(raw, at, dirfd, path, flags, mode);
	fm_change_end(&c, r >= 0, true);
	return r;
}

/* A ring may read or write it from now on. */
static int io_open_opened(int fd, int flags)
{
	if (fm_may_be_sourced())
		fd = fm_backing_opened(fd, flags);
	if (fd >= 0 && atomic_load_explicit(&fm_async, memory_order_relaxed))
		fm_async_opened(fd);
	return fd;
}

int fm_do_open(bool raw, bool at, int dirfd, const char *path, int flags,
	       mode_t mode)
{
	if (fm_looks() && ((flags & O_TRUNC) || fm_data_in(path, 1)))
		return io_open_opened(
			open_slow(raw, at, dirfd, path, flags, mode), flags);
	/* A file may be the message: it is there, so the data are. */
	if (flags & O_CREAT)
		fm_ipc_before();
	return io_open_opened((int)fm_ipc_after(
		call_open(raw, at, dirfd, path, flags, mode)), flags);
}

#define MODE_OF(flags) (NEEDS_MODE(flags) ? FM_VARARG(flags, mode_t) : 0)

FM_HOOK int open(const char *path, int flags, ...)
{
	return fm_do_open(false, false, AT_FDCWD, path, flags, MODE_OF(flags));
}

FM_HOOK int openat(int dirfd, const char *path, int flags, ...)
{
	return fm_do_open(false, true, dirfd, path, flags, MODE_OF(flags));
}

int fm_do_creat(bool raw, const char *path, mode_t mode)
{
	const int flags = O_CREAT | O_WRONLY | O_TRUNC;

	if (fm_looks())
		return io_open_opened(open_slow(raw, false, AT_FDCWD, path,
						flags, mode), flags);
	return io_open_opened(FM_PASS_VIA(raw, creat, __NR_creat, path, mode),
			      flags);
}

/* libc aborts the program that forgot the mode. */
FM_HOOK int __open_2(const char *path, int flags)
{
	if (NEEDS_MODE(flags) && FM_FOUND(__open_2))
		return FM_FOUND(__open_2)(path, flags);
	return fm_do_open(false, false, AT_FDCWD, path, flags, 0);
}

FM_HOOK int __openat_2(int dirfd, const char *path, int flags)
{
	if (NEEDS_MODE(flags) && FM_FOUND(__openat_2))
		return FM_FOUND(__openat_2)(dirfd, path, flags);
	return fm_do_open(false, true, dirfd, path, flags, 0);
}

/* ---- openat2, by its number: libc has no name for it ------------------- */

/* Which file it is only the kernel can say, by the same rules; an O_PATH
 * descriptor neither opens the file nor ends a lock when it is closed. */
static bool change_how(struct fm_change *c, int dirfd, const char *path,
		       const struct open_how *how)
{
	struct open_how look = { .flags = O_PATH | O_CLOEXEC,
				 .resolve = how->resolve };
	bool is;
	int fd;

	if (!(how->flags & O_TRUNC) || (how->flags & O_PATH))
		return false;
	look.flags |= how->flags & O_NOFOLLOW;
	fd = (int)fm_sys4(SYS_openat2, dirfd, path, &look, sizeof(look));
	if (fd < 0)
		return false;
	is = fm_change_fd(c, fd);
	fm_sys_close(fd);
	return is;
}

long fm_openat2(int dirfd, const char *path, const void *how, size_t size);
long fm_openat2(int dirfd, const char *path, const void *how, size_t size)
{
	struct open_how h = { 0 };
	char copy[FM_PATH_BUF];
	struct fm_object b;
	struct fm_change c;
	long r;

	path = fm_path(path, copy);
	how = fm_object(&b, how, size, FM_COPY_IN);
	/* What cannot be read is the kernel's to refuse. */
	if (size < sizeof(h) || !fm_user_read(&h, how, sizeof(h)))
		h.flags = 0;
	if (h.flags & O_CREAT)
		fm_ipc_before();
	if (change_how(&c, dirfd, path, &h)) {
		fm_change_serial(&c);
		r = fm_change_lock_cut(&c, 0);
		if (r == 0)
			r = fm_result(fm_sys4(SYS_openat2, dirfd, path, how,
					      size));
		fm_change_end(&c, r >= 0, true);
	} else {
		r = fm_result(fm_sys4(SYS_openat2, dirfd, path, how, size));
	}
	fm_object_end(&b, size);
	return io_open_opened((int)fm_ipc_after(r), (int)h.flags);
}

/* ---- other names -------------------------------------------------------- */

FM_ALIAS(open) int open64(const char *path, int flags, ...);
FM_ALIAS(open) int __open(const char *path, int flags, ...) __nonnull((1));
FM_ALIAS(open) int __open64(const char *path, int flags, ...) __nonnull((1));
FM_ALIAS(openat) int openat64(int dirfd, const char *path, int flags, ...);
FM_ALIAS(__open_2) int __open64_2(const char *path, int flags);
FM_ALIAS(__openat_2) int __openat64_2(int dirfd, const char *path, int flags);
