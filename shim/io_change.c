/* SPDX-License-Identifier: MIT */
/*
 * io_change.c - file and mappings agree while the program uses system calls
 * on a file that it has also mapped.
 */
#include "guard.h"

#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>

/* Serialises what depends on a file position or on the end of the file: the
 * range to hold is computed from it before the call. Held with all signals
 * blocked, around calls that cannot block for ever. Striped by file. */
#define STRIPES 64
static struct fm_lock serial[STRIPES] = {
	[0 ... STRIPES - 1] = FM_LOCK(FM_RANK_CHANGE),
};

/* Other threads of the parent may have held any of them. */
void fm_change_fork_child(void);
void fm_change_fork_child(void)
{
	for (int i = 0; i < STRIPES; i++)
		fm_lock_reset(&serial[i]);
}

static void io_change_begin(struct fm_change *c, struct fm_file *f)
{
	pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, &c->cancel);
	c->file = f;
	c->held = c->serial = false;
	c->lock = NULL;
	fm_block_signals(&c->mask);
	fm_holds++;
}

void fm_change_file(struct fm_change *c, struct fm_file *f)
{
	io_change_begin(c, f);
	c->owned = false;
}

static bool begin_owned(struct fm_change *c, struct fm_file *f)
{
	if (!f)
		return false;
	io_change_begin(c, f);
	c->owned = true;
	return true;
}

bool fm_change_fd(struct fm_change *c, int fd)
{
	return !fm_holds && begin_owned(c, fm_file_by_fd(fd));
}

bool fm_change_path(struct fm_change *c, int dirfd, const char *path)
{
	struct stat st;

	if (fm_holds || fm_sys4(SYS_newfstatat, dirfd, path, &st, 0) < 0 ||
	    !S_ISREG(st.st_mode))
		return false;
	return begin_owned(c, fm_file_by_stat(&st));
}

void fm_change_serial(struct fm_change *c)
{
	uint64_t h = (uintptr_t)c->file * 0x9e3779b97f4a7c15ull;

	c->lock = &serial[h >> 58];
	fm_lock(c->lock);
	c->serial = true;
}

static int has_locked(struct fm_change *c, int err)
{
	if (err < 0) {
		errno = -err;
		return -1;
	}
	c->held = true;
	return 0;
}

int fm_change_lock(struct fm_change *c, off_t off, off_t len)
{
	return has_locked(c, fm_range_lock(c->file, off < 0 ? 0 : off, len,
					   &c->range));
}

int fm_change_lock_hole(struct fm_change *c, off_t off, off_t len)
{
	return has_locked(c, fm_range_lock_hole(c->file, off, len, &c->range));
}

int fm_change_lock_cut(struct fm_change *c, off_t off)
{
	return has_locked(c, fm_range_lock_cut(c->file, off, &c->range));
}

void fm_change_end(struct fm_change *c, bool changed, bool discard)
{
	if (c->held)
		fm_range_unlock(&c->range, changed, discard);
	if (changed)
		fm_file_size_changed(c->file);
	if (c->serial)
		fm_unlock(c->lock);
	/* Last, for a handler that waits may jump. */
	if (c->owned)
		fm_file_put(c->file);
	pthread_setcancelstate(c->cancel, NULL);
	fm_holds--;
	fm_restore_signals(&c->mask);
}

int fm_see(int fd, off_t off, off_t len)
{
	struct fm_file *f = fm_holds ? NULL : fm_file_by_fd(fd);
	int r;

	if (!f)
		return 0;
	r = fm_file_flush(f, off, len);
	fm_file_put(f);
	return (int)fm_result(r);
}

/* ---- one read or write -------------------------------------------------- */

#ifndef RWF_NOAPPEND
#define RWF_NOAPPEND 0x20 /* Linux 6.9 */
#endif

static int flags_of(const struct fm_rw *rw)
{
	long fl = fm_sys2(SYS_fcntl, rw->fd, F_GETFL);

	if (fl < 0)
		fl = 0;
	if (rw->flags & RWF_NOAPPEND)
		fl &= ~O_APPEND;
	return (int)fl | (rw->flags & RWF_APPEND ? O_APPEND : 0);
}

static off_t io_change_position(int fd)
{
	off_t pos = fm_sys3(SYS_lseek, fd, 0, SEEK_CUR);

	return pos < 0 ? 0 : pos;
}

static off_t io_change_size_of(int fd)
{
	struct stat st;

	return fm_sys_stat_notimes(fd, &st) < 0 ? 0 : st.st_size;
}

/* No space is nothing that a read can say. */
static int read_error(int err)
{
	return err == -ENOSPC || err == -EDQUOT || err == -EFBIG ? -EIO : err;
}

/* Write-back that fails must not let the program read older bytes than the
 * mapping shows: its read fails instead. */
static ssize_t change_in(const struct fm_rw *rw, const struct iovec *iov,
			 int cnt, size_t len, off_t off)
{
	struct fm_change c;
	ssize_t r = -1;
	int e;

	fm_change_file(&c, rw->file);
	if (off == FM_HERE)
		fm_change_serial(&c);
	e = fm_file_flush(rw->file,
			  off == FM_HERE ? io_change_position(rw->fd) : off,
			  (off_t)len);
	if (e < 0)
		errno = -read_error(e);
	else
		r = rw->call(rw, iov, cnt, off);
	fm_change_end(&c, false, false);
	return r;
}

/* Another process that shares the description moved the position under our
 * hands; where the bytes went is not known. */
static void io_change_forget_all(struct fm_file *f)
{
	struct fm_range all;

	fm_log(FM_LOG_NOTE, "file position changed during write, "
			    "reading all mappings of the file again");
	if (fm_range_lock(f, 0, 0, &all) == 0)
		fm_range_unlock(&all, true, false);
}

static ssize_t change_out(const struct fm_rw *rw, const struct iovec *iov,
			  int cnt, size_t len, off_t off)
{
	const int flags = flags_of(rw);
	const bool append = flags & O_APPEND;
	struct fm_change c;
	bool moved = false;
	off_t from = off;
	ssize_t r = -1;

	fm_change_file(&c, rw->file);
	if (off == FM_HERE || append)
		fm_change_serial(&c);
	if (append)
		from = io_change_size_of(rw->fd);
	else if (off == FM_HERE)
		from = io_change_position(rw->fd);
	if (fm_change_lock(&c, from, (off_t)len) == 0)
		r = rw->call(rw, iov, cnt, off);
	if (r > 0 && off == FM_HERE)
		moved = io_change_position(rw->fd) - r != from;
	c.range.cached = !(flags & O_DIRECT);
	fm_change_end(&c, r > 0, false);
	if (moved)
		io_change_forget_all(rw->file);
	return r;
}

ssize_t fm_change_call(const struct fm_rw *rw, const struct iovec *iov,
		       int cnt, size_t len, off_t off)
{
	if (!len)
		return rw->call(rw, iov, cnt, off);
	return rw->in ? change_in(rw, iov, cnt, len, off)
		      : change_out(rw, iov, cnt, len, off);
}
