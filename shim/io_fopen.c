/* SPDX-License-Identifier: MIT */
/* io_fopen.c - streams that are opened: mode "w" truncates the file. */
#include "io_stdio.h"
#include "io_backing.h"
#include "io_stream.h"

#include <fcntl.h>
#include <pthread.h>
#include <string.h>

FM_NEXT(fopen)
FM_NEXT(freopen)

extern void _IO_list_lock(void) __attribute__((weak));
extern void _IO_list_unlock(void) __attribute__((weak));

static bool truncates(const char *mode)
{
	return mode[0] == 'w';
}

/* Hold the whole file before it is emptied. False: nothing to hold. */
static bool hold_all(struct fm_change *c, const char *path, int *ret)
{
	if (!fm_change_path(c, AT_FDCWD, path))
		return false;
	fm_change_serial(c);
	*ret = fm_change_lock_cut(c, 0);
	return true;
}

/* As libc opens it. */
static int open_flags(const char *mode)
{
	return O_CREAT | O_TRUNC | (strchr(mode, '+') ? O_RDWR : O_WRONLY) |
	       (strchr(mode, 'x') ? O_EXCL : 0) |
	       (strchr(mode, 'e') ? O_CLOEXEC : 0);
}

/* A thread that forks has libc's list of streams and asks for the space lock,
 * so that nothing of stdio may be called while the file is held. */
static FILE *open_held(struct fm_change *c, int r, const char *path,
		       const char *mode)
{
	FILE *fp = NULL;
	int fd = -1;

	if (r == 0)
		fd = (int)fm_result(fm_syscall(SYS_openat, AT_FDCWD, path,
					       open_flags(mode), 0666));
	fm_change_end(c, fd >= 0, true);
	if (fd >= 0)
		fp = fdopen(fd, mode);
	if (fd >= 0 && !fp)
		fm_sys_close(fd);
	return fp;
}

FM_SLOW FILE *fopen_slow(const char *path, const char *mode)
{
	char copy[FM_PATH_BUF];
	struct fm_change c;
	FILE *fp = NULL;
	int r;

	pthread_testcancel();
	fm_ipc_before();
	path = fm_path(path, copy);
	if (!truncates(mode) || !hold_all(&c, path, &r)) {
		fp = FM_LATE(fopen)(path, mode);
		fm_ipc_after(fp ? 0 : -1);
		return fp;
	}
	if (!strchr(mode, ','))
		return open_held(&c, r, path, mode);
	if (r == 0) /* a character set, which fdopen does not know */
		fp = FM_LATE(fopen)(path, mode);
	fm_change_end(&c, fp != NULL, true);
	return fp;
}

/* A ring may read or write it from now on. */
static FILE *io_fopen_opened(FILE *fp)
{
	if (fp && atomic_load_explicit(&fm_async, memory_order_relaxed))
		fm_async_opened(fp->_fileno);
	return fp;
}

FM_HOOK FILE *fopen(const char *path, const char *mode)
{
	const int is = fm_may_be_sourced() ? fm_backing_at(path) : 0;
	FILE *fp;

	if (is)
		return is < 0 ? NULL : fm_stream_open(path, mode);
	if (fm_looks() && (truncates(mode) || fm_data_in(path, 1)))
		return io_fopen_opened(fopen_slow(path, mode));
	fp = FM_LATE(fopen)(path, mode);
	fm_ipc_after(fp ? 0 : -1);
	return io_fopen_opened(fp);
}

/* In libc's order, which is fork's too, before the file is held. */
static void lock_stream(FILE *fp)
{
	if (_IO_list_lock)
		_IO_list_lock();
	flockfile(fp);
}

static void unlock_stream(FILE *fp)
{
	funlockfile(fp);
	if (_IO_list_unlock)
		_IO_list_unlock();
}

/* Without a path: the same file again, in another mode. The old stream is
 * closed in any case, and what it holds goes to its own file first. */
FM_SLOW FILE *freopen_slow(const char *path, const char *mode, FILE *fp)
{
	char copy[FM_PATH_BUF], self[FM_PROC_FD];
	const char *target;
	struct fm_change c;
	FILE *ret = NULL;
	bool held;
	int r, cancel;

	pthread_testcancel();
	fm_stdio_flush(fp, true);
	if (path)
		path = target = fm_path(path, copy);
	else
		target = fm_proc_fd(self, fp->_fileno);
	if (!truncates(mode))
		return FM_LATE(freopen)(path, mode, fp);
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &cancel);
	lock_stream(fp);
	held = hold_all(&c, target, &r);
	if (!held || r == 0)
		ret = FM_LATE(freopen)(path, mode, fp);
	if (held)
		fm_change_end(&c, ret != NULL, true);
	unlock_stream(fp);
	pthread_setcancelstate(cancel, NULL);
	return ret;
}

/* Where its bytes cannot be had each read says so. */
static bool again_is_sourced(const char *path, const FILE *fp)
{
	return fm_may_be_sourced() && (path ? fm_backing_at(path) :
					      fm_backing_is(fp->_fileno));
}

FM_HOOK FILE *freopen(const char *path, const char *mode, FILE *fp)
{
	const int fd = fp->_fileno;
	FILE *ret;

	if (again_is_sourced(path, fp))
		return fm_stream_again(path, mode, fp);
	fm_seen_fd_closed();
	fm_close_begins(fd);
	ret = fm_looks() ? freopen_slow(path, mode, fp) :
			    FM_LATE(freopen)(path, mode, fp);
	fm_close_ends(fd);
	return ret;
}

FM_ALIAS(fopen) FILE *fopen64(const char *path, const char *mode);
FM_ALIAS(freopen)
FILE *freopen64(const char *path, const char *mode, FILE *fp) __nonnull((3));
