/* SPDX-License-Identifier: MIT */
/*
 * store_pread.c - files as descriptors, where there is no io_uring. The program
 * may close their numbers (fd_recovery.h), and closing one drops its record
 * locks (posix_locks.h).
 */
#include "base/fds.h"
#include "base/proc.h"
#include "base/sys.h"
#include "fd_recovery.h"
#include "posix_locks.h"
#include "ring_priv.h"
#include "store.h"

extern const struct fm_store fm_store_pread;

#define RWF_NOWAIT_ 8 /* ABI: absent from old headers */

static bool store_pread_takes(struct fm_file *f, int fd, const struct stat *st)
{
	return true;
}

static int open_fd(struct fm_file *f, int fd, int flags, bool buffered)
{
	char path[FM_PROC_FD];
	int nfd;

	fm_proc_fd(path, fd);
	nfd = fm_sys_open(path, flags, 0);
	if (nfd < 0)
		return nfd;
	nfd = fm_fd_raise(nfd);
	if (buffered) {
		f->io->was[0] = f->io->buffered;
		f->io->buffered = nfd;
	} else {
		f->io->was[1] = f->io->direct;
		f->io->direct = nfd;
	}
	return 0;
}

static int dup_fd(const struct fm_file *f)
{
	return (int)fm_sys3(SYS_fcntl, f->io->buffered, F_DUPFD_CLOEXEC, 0);
}

static FM_FAULT int store_pread_number(const struct fm_io *io)
{
	const struct fm_file_io *f = io->file->io;

	return io->buffered || f->direct < 0 ? f->buffered : f->direct;
}

/* The program may have closed these numbers behind our back, and opened
 * something else. */
static FM_FAULT int sure_number(const struct fm_io *io)
{
	struct fm_file *f = io->file;
	int fd = store_pread_number(io);

	if (fm_sys_is_file(fd, f->dev, f->ino))
		return fd;
	fd = fm_recover_file(f) ? store_pread_number(io) : -1;
	return fd < 0 ? -EBADF : fd;
}

static FM_FAULT bool do_read(struct fm_ring *r, struct fm_io *io)
{
	struct iovec v = { io->buf, io->len };
	int fd = sure_number(io);
	long res = fd;

	if (fd >= 0)
		res = io->nowait ? fm_sys6(SYS_preadv2, fd, (long)&v, 1,
					   (long)io->off, 0, RWF_NOWAIT_)
				 : fm_sys_pread(fd, io->buf, io->len,
						(off_t)io->off);
	fm_ring_finish(r, io, res);
	return false;
}

/* A program that has confined itself may make the plain call only. */
static FM_FAULT long store_pread_write_to(int fd, const struct fm_io *io)
{
	struct iovec v = { io->buf, io->len };

	if (!io->vec && !io->nowait)
		return fm_sys_pwrite(fd, io->buf, io->len, (off_t)io->off);
	return fm_sys6(SYS_pwritev2, fd, (long)(io->vec ? io->vec : &v),
		       io->vec ? 2 : 1, (long)io->off, 0,
		       io->nowait ? RWF_NOWAIT_ : 0);
}

static FM_FAULT bool do_write(struct fm_ring *r, struct fm_io *io)
{
	int fd = sure_number(io);

	fm_ring_finish(r, io, fd < 0 ? fd : store_pread_write_to(fd, io));
	return false;
}

static FM_FAULT bool do_allocate(struct fm_ring *r, struct fm_io *io)
{
	int fd = sure_number(io);

	fm_ring_finish(r, io, fd < 0 ? fd : fm_sys4(SYS_fallocate, fd,
						    fm_allocate_mode(io),
						    io->off, io->len));
	return false;
}

static FM_FAULT bool do_sync(struct fm_ring *r, struct fm_io *io)
{
	int fd = sure_number(io);

	fm_ring_finish(r, io, fd < 0 ? fd : fm_sys1(SYS_fdatasync, fd));
	return false;
}

static struct fm_store_io calls FM_FAULT_CALLS = {
	.read = do_read, .write = do_write, .allocate = do_allocate,
	.sync = do_sync,
};

const struct fm_store fm_store_pread = {
	.name = "pread",
	.direct = true,
	.keeps = true,
	.takes = store_pread_takes,
	.open = open_fd,
	.close = fm_posix_locks_close,
	.dup = dup_fd,
	.io = &calls,
};
