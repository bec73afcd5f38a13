/* SPDX-License-Identifier: MIT */
/* io_rw.c - read, write and their positional forms, one buffer. */
#include "guard.h"
#include "io_backing.h"

#include <stdio.h>

FM_NEXT(read)
FM_NEXT(write)
FM_NEXT(pread)
FM_NEXT(pwrite)

static ssize_t call_read(const struct fm_rw *rw, const struct iovec *iov,
			 int cnt, off_t off)
{
	return FM_PASS_VIA(rw->raw, read, SYS_read, rw->fd, iov->iov_base,
			   iov->iov_len);
}

static ssize_t call_write(const struct fm_rw *rw, const struct iovec *iov,
			  int cnt, off_t off)
{
	return FM_PASS_VIA(rw->raw, write, SYS_write, rw->fd, iov->iov_base,
			   iov->iov_len);
}

static ssize_t call_pread(const struct fm_rw *rw, const struct iovec *iov,
			  int cnt, off_t off)
{
	return FM_PASS_VIA(rw->raw, pread, SYS_pread64, rw->fd, iov->iov_base,
			   iov->iov_len, off);
}

static ssize_t call_pwrite(const struct fm_rw *rw, const struct iovec *iov,
			   int cnt, off_t off)
{
	return FM_PASS_VIA(rw->raw, pwrite, SYS_pwrite64, rw->fd, iov->iov_base,
		       iov->iov_len, off);
}

/* The kernel looks at all that it is given, whatever it moves then: what
 * reaches beyond the addresses of a program is refused. */
static bool io_rw_beyond(const void *buf, size_t n)
{
	return n > FM_ARCH_USER_END || (uintptr_t)buf > FM_ARCH_USER_END - n;
}

FM_SLOW ssize_t io_rw_guarded(bool raw, int fd, void *buf, size_t n, off_t off,
			      bool in,
			      ssize_t (*call)(const struct fm_rw *,
					      const struct iovec *, int, off_t))
{
	struct iovec iov = { buf, n };
	struct fm_rw rw = {
		.fd = fd,
		.raw = raw,
		.in = in,
		.off = off,
		.iov = &iov,
		.cnt = 1,
		.call = call,
	};

	return io_rw_beyond(buf, n) ? call(&rw, &iov, 1, off) : fm_rw(&rw);
}

FM_SLOW bool source_reads(int fd, void *buf, size_t n, off_t off, ssize_t *ret)
{
	const struct iovec iov = { buf, n < FM_RW_MAX ? n : FM_RW_MAX };

	return fm_backing_reads(fd, &iov, 1, off, ret);
}

ssize_t fm_do_read(bool raw, int fd, void *buf, size_t n)
{
	unsigned slot;
	ssize_t r;

	if (fm_may_be_sourced() && source_reads(fd, buf, n, FM_HERE, &r))
		return r;
	if (fm_idle())
		return FM_PASS_VIA(raw, read, SYS_read, fd, buf, n);
	if (fm_note_read_to(fd, buf, n, &slot)) {
		r = FM_PASS_VIA(raw, read, SYS_read, fd, buf, n);
		fm_read_leave(slot);
		return fm_ipc_after(r);
	}
	return io_rw_guarded(raw, fd, buf, n, FM_HERE, true, call_read);
}

ssize_t fm_do_write(bool raw, int fd, const void *buf, size_t n)
{
	unsigned slot;
	ssize_t r;

	if (fm_idle())
		return FM_PASS_VIA(raw, write, SYS_write, fd, buf, n);
	if (fm_note_write_from(fd, buf, n, &slot)) {
		r = FM_PASS_VIA(raw, write, SYS_write, fd, buf, n);
		fm_write_leave(slot);
		return r;
	}
	return io_rw_guarded(raw, fd, (void *)(uintptr_t)buf, n, FM_HERE, false,
			     call_write);
}

ssize_t fm_do_pread(bool raw, int fd, void *buf, size_t n, off_t off)
{
	unsigned slot;
	ssize_t r;

	if (fm_may_be_sourced() && off >= 0 &&
	    source_reads(fd, buf, n, off, &r))
		return r;
	if (fm_idle() || off < 0)
		return FM_PASS_VIA(raw, pread, SYS_pread64, fd, buf, n, off);
	if (fm_note_read_to(fd, buf, n, &slot)) {
		r = FM_PASS_VIA(raw, pread, SYS_pread64, fd, buf, n, off);
		fm_read_leave(slot);
		return r;
	}
	return io_rw_guarded(raw, fd, buf, n, off, true, call_pread);
}

ssize_t fm_do_pwrite(bool raw, int fd, const void *buf, size_t n, off_t off)
{
	unsigned slot;
	ssize_t r;

	if (fm_idle() || off < 0)
		return FM_PASS_VIA(raw, pwrite, SYS_pwrite64, fd, buf, n, off);
	if (fm_note_write_from(fd, buf, n, &slot)) {
		r = FM_PASS_VIA(raw, pwrite, SYS_pwrite64, fd, buf, n, off);
		fm_write_leave(slot);
		return r;
	}
	return io_rw_guarded(raw, fd, (void *)(uintptr_t)buf, n, off, false,
			     call_pwrite);
}

/* A race between two threads over one position is the program's own; but the
 * position must not move between our look at it and the write. */
FM_NEXT(lseek)
/* What has been stored is data, whether or not it has been written back. */
static bool seeks_data(int whence)
{
	return whence == SEEK_DATA || whence == SEEK_HOLE;
}

off_t fm_do_lseek(bool raw, int fd, off_t off, int whence)
{
	struct fm_change c;
	off_t r;

	const bool asks = off == 0 && whence == SEEK_CUR;

	if (fm_may_be_sourced() && fm_backing_seeks(fd, off, whence, &r))
		return r;
	if (!fm_looks() || asks || !fm_change_fd(&c, fd))
		return FM_PASS_VIA(raw, lseek, SYS_lseek, fd, off, whence);
	fm_change_serial(&c);
	r = !seeks_data(whence) ? 0 :
	    fm_result(fm_file_flush(c.file, off < 0 ? 0 : off, 0));
	if (r == 0)
		r = FM_PASS_VIA(raw, lseek, SYS_lseek, fd, off, whence);
	fm_change_end(&c, false, false);
	return r;
}
