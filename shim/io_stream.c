/* SPDX-License-Identifier: MIT */
/*
 * io_stream.c - streams of files whose bytes come from a source: the kernel has
 * no bytes of theirs, and libc reads a stream by no call that is seen. So such
 * a stream is one of callbacks (fopencookie), which do as the hooks do.
 */
#include "io_stdio.h"
#include "io_backing.h"
#include "io_stream.h"

#include <fcntl.h>
#include <string.h>
#include <unistd.h>

FM_NEXT(fdopen)

static int fd_of(void *cookie)
{
	return (int)(intptr_t)cookie;
}

/* The number may be another file's by now. */
static ssize_t stream_read(void *cookie, char *buf, size_t n)
{
	const struct iovec v = { .iov_base = buf, .iov_len = n };
	ssize_t r;

	if (fm_backing_reads(fd_of(cookie), &v, 1, FM_HERE, &r))
		return r;
	return fm_do_read(false, fd_of(cookie), buf, n);
}

static int stream_seek(void *cookie, off64_t *at, int whence)
{
	const int fd = fd_of(cookie);
	off_t r;

	if (!fm_backing_seeks(fd, *at, whence, &r))
		r = fm_do_lseek(false, fd, *at, whence);
	if (r >= 0)
		*at = r;
	return r < 0 ? -1 : 0;
}

static int stream_close(void *cookie)
{
	return (int)fm_result(fm_sys_close(fd_of(cookie)));
}

static bool only_reads(const char *mode)
{
	return mode[0] == 'r' && !strchr(mode, '+');
}

/* fileno tells its number. */
static FILE *stream_of(int fd)
{
	static const cookie_io_functions_t calls = {
		.read = stream_read, .seek = stream_seek, .close = stream_close
	};
	FILE *fp = fopencookie((void *)(intptr_t)fd, "r", calls);

	if (fp)
		fp->_fileno = fd;
	return fp;
}

static FILE *stream_refused(const char *path)
{
	static _Atomic bool told;

	if (!atomic_exchange(&told, true))
		fm_log(FM_LOG_ERROR, "%s: refused: such a stream would read it "
		       "unseen; use another, read, pread or mmap "
		       "(docs/stores.md)", path);
	errno = EOPNOTSUPP;
	return NULL;
}

static int stream_open(const char *path, const char *mode)
{
	const int more = strchr(mode, 'e') ? O_CLOEXEC : 0;

	if (only_reads(mode))
		return fm_do_open(false, false, AT_FDCWD, path,
				  O_RDONLY | more, 0);
	errno = EROFS;
	return -1;
}

FILE *fm_stream_open(const char *path, const char *mode)
{
	FILE *fp;
	int fd;

	if (strchr(mode, ',')) /* a character set */
		return stream_refused(path);
	fd = stream_open(path, mode);
	fp = fd < 0 ? NULL : stream_of(fd);
	if (fd >= 0 && !fp)
		fm_sys_close(fd);
	return fp;
}

FM_HOOK FILE *fdopen(int fd, const char *mode)
{
	const int saved = errno;

	if (!fm_may_be_sourced() || !fm_backing_copies(fd)) /* EINVAL */
		return FM_LATE(fdopen)(fd, mode);
	if (errno != EINVAL || !only_reads(mode))
		return NULL;
	errno = saved;
	return stream_of(fd);
}

/* ---- another file for a stream ------------------------------------------ */

static FILE *stream_anew(FILE *fp)
{
	return fseeko(fp, 0, SEEK_SET) ? NULL : fp;
}

/* Programs look at the variable. */
static bool stream_is_stdin(int fd)
{
	FILE *fp = stream_of(fd);

	if (fp)
		stdin = fp;
	return fp;
}

/* The number stays the standard one. */
static FILE *stream_stdin(const char *path, const char *mode)
{
	const int old = stdin->_fileno;
	int fd = stream_open(path, mode);
	long r;

	if (fd >= 0 && old >= 0 && fd != old) {
		fm_seen_fd_closed();
		fm_close_begins(old);
		r = fm_sys3(SYS_dup3, fd, old, 0);
		fm_close_ends(old);
		fm_sys_close(fd);
		fd = (int)fm_result(r);
	}
	return fd >= 0 && stream_is_stdin(fd) ? stdin : NULL;
}

FILE *fm_stream_again(const char *path, const char *mode, FILE *fp)
{
	if (!path && only_reads(mode))
		return stream_anew(fp);
	if (path && fp == stdin && !strchr(mode, ','))
		return stream_stdin(path, mode);
	fclose(fp);
	return stream_refused(path ? path : "a stream");
}

void fm_stream_boot(void)
{
	/* where its bytes cannot be had each read says so */
	if (fm_may_be_sourced() && fm_backing_is(STDIN_FILENO))
		stream_is_stdin(STDIN_FILENO);
}
