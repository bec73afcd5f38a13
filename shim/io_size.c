/* SPDX-License-Identifier: MIT */
/* io_size.c - calls that change a file's size or blocks, and the sync family.
 * open(O_TRUNC) is one of them. */
#include "guard.h"

#include <fcntl.h>
#include <linux/falloc.h>
#include <linux/magic.h>
#include <pthread.h>
#include <sys/stat.h>
#include <sys/statfs.h>

FM_NEXT(truncate)
FM_NEXT(ftruncate)
FM_NEXT(fallocate)
FM_NEXT(posix_fallocate)
FM_NEXT(posix_fadvise)
FM_NEXT(fsync)
FM_NEXT(fdatasync)
FM_NEXT(sync_file_range)
FM_NEXT(syncfs)
FM_NEXT(sync)

/* ---- truncate ----------------------------------------------------------- */

/* Everything from the lower of both ends on. Growing counts too: stores to
 * the last page beyond the old end must not come to light. */
static int lock_tail(struct fm_change *c, off_t len, bool *ret_shrinks)
{
	off_t old;

	fm_change_serial(c);
	old = fm_file_size(c->file); /* not before another thread's change */
	*ret_shrinks = len < old;
	return *ret_shrinks ? fm_change_lock_cut(c, len) :
			      fm_change_lock(c, old, 0);
}

static int truncate_held(bool raw, struct fm_change *c, int fd, off_t len)
{
	bool shrinks;
	int r = lock_tail(c, len, &shrinks);

	if (r == 0)
		r = FM_PASS_VIA(raw, ftruncate, SYS_ftruncate, fd, len);
	fm_change_end(c, r == 0, shrinks);
	return r;
}

int fm_do_ftruncate(bool raw, int fd, off_t len)
{
	struct fm_change c;
	unsigned slot;
	bool ours;
	int r = 0;

	if (fm_idle() || len < 0)
		return FM_PASS_VIA(raw, ftruncate, SYS_ftruncate, fd, len);
	slot = fm_write_enter(fd);
	ours = fm_change_fd(&c, fd);
	if (!ours)
		r = FM_PASS_VIA(raw, ftruncate, SYS_ftruncate, fd, len);
	fm_write_leave(slot);
	return ours ? truncate_held(raw, &c, fd, len) : r;
}

FM_SLOW int truncate_slow(bool raw, const char *path, off_t len)
{
	char copy[FM_PATH_BUF];
	struct fm_change c;
	bool shrinks;
	int r;

	path = fm_path(path, copy);
	if (len < 0 || !fm_change_path(&c, AT_FDCWD, path))
		return FM_PASS_VIA(raw, truncate, SYS_truncate, path, len);
	r = lock_tail(&c, len, &shrinks);
	if (r == 0)
		r = FM_PASS_VIA(raw, truncate, SYS_truncate, path, len);
	fm_change_end(&c, r == 0, shrinks);
	return r;
}

int fm_do_truncate(bool raw, const char *path, off_t len)
{
	if (!fm_looks())
		return FM_PASS_VIA(raw, truncate, SYS_truncate, path, len);
	return truncate_slow(raw, path, len);
}

/* ---- fallocate ---------------------------------------------------------- */

/* Hold what the mode changes. 0, or -1 and errno. */
static int lock_alloc(struct fm_change *c, int mode, off_t off, off_t len,
		      bool *ret_discard)
{
	const int moves = FALLOC_FL_COLLAPSE_RANGE | FALLOC_FL_INSERT_RANGE;
	bool grows;
	off_t size;

	fm_change_serial(c);
	if (mode & (FALLOC_FL_PUNCH_HOLE | FALLOC_FL_INSERT_RANGE))
		fm_file_has_holes(c->file);
	size = fm_file_size(c->file);
	grows = off + len > size && !(mode & FALLOC_FL_KEEP_SIZE);
	*ret_discard = mode & moves;
	/* With an end, for what cannot be written must not be moved away. */
	if (mode & moves)
		return fm_change_lock(c, off, INT64_MAX - off);
	/* Only reserves blocks: the bytes up to the old end stay. */
	if (!(mode & ~(FALLOC_FL_KEEP_SIZE | FALLOC_FL_UNSHARE_RANGE)))
		return grows ? fm_change_lock(c, size, off + len - size) : 0;
	if (mode & FALLOC_FL_PUNCH_HOLE)
		return fm_change_lock_hole(c, off, len);
	if (grows && off > size) {
		len += off - size;
		off = size;
	}
	return fm_change_lock(c, off, len);
}

/* Pages of private mappings that the program has stored to: where bytes move,
 * ext4 takes them away, as truncation does; XFS leaves them. */
static bool takes_copies(int fd)
{
	struct statfs fs;

	return fm_sys2(SYS_fstatfs, fd, &fs) || fs.f_type != XFS_SUPER_MAGIC;
}

static bool sane(off_t off, off_t len)
{
	off_t end;

	return off >= 0 && len > 0 && !__builtin_add_overflow(off, len, &end);
}

/* True: the file is ours, and c begun. Else the call is done. */
static bool change_or(struct fm_change *c, int fd, int *ret,
		      int (*call)(bool, int, int, off_t, off_t), bool raw,
		      int mode, off_t off, off_t len)
{
	unsigned slot = fm_write_enter(fd);
	bool ours = fm_change_fd(c, fd);

	if (!ours)
		*ret = call(raw, fd, mode, off, len);
	fm_write_leave(slot);
	return ours;
}

static int pass_fallocate(bool raw, int fd, int mode, off_t off, off_t len)
{
	return FM_PASS_VIA(raw, fallocate, SYS_fallocate, fd, mode, off, len);
}

int fm_do_fallocate(bool raw, int fd, int mode, off_t off, off_t len)
{
	struct fm_change c;
	bool discard;
	int r;

	if (fm_idle() || !sane(off, len))
		return pass_fallocate(raw, fd, mode, off, len);
	if (!raw)
		pthread_testcancel();
	if (!change_or(&c, fd, &r, pass_fallocate, raw, mode, off, len))
		return r;
	r = lock_alloc(&c, mode, off, len, &discard);
	if (r == 0)
		r = pass_fallocate(raw, fd, mode, off, len);
	fm_change_end(&c, r == 0, discard && takes_copies(fd));
	return r;
}

static int pass_posix_fallocate(bool raw, int fd, int mode, off_t off,
				off_t len)
{
	if (!raw && FM_FOUND(posix_fallocate))
		return FM_FOUND(posix_fallocate)(fd, off, len);
	return (int)-fm_sys4(SYS_fallocate, fd, 0, off, len);
}

/* Returns the error number. Where the file system cannot allocate, libc
 * stores zero bytes over zero bytes; what we hold stays true. */
FM_HOOK int posix_fallocate(int fd, off_t off, off_t len)
{
	const int saved = errno;
	struct fm_change c;
	bool discard;
	int r;

	if (fm_idle() || !sane(off, len))
		return pass_posix_fallocate(false, fd, 0, off, len);
	pthread_testcancel();
	if (!change_or(&c, fd, &r, pass_posix_fallocate, false, 0, off, len))
		return r;
	if (lock_alloc(&c, 0, off, len, &discard) < 0)
		r = errno;
	else
		r = pass_posix_fallocate(false, fd, 0, off, len);
	fm_change_end(&c, r == 0, false);
	errno = saved;
	return r;
}

FM_HOOK int posix_fadvise(int fd, off_t off, off_t len, int advice)
{
	struct fm_file *f;
	int r;

	if (FM_FOUND(posix_fadvise))
		r = FM_FOUND(posix_fadvise)(fd, off, len, advice);
	else
		r = (int)-fm_sys4(SYS_fadvise64, fd, off, len, advice);
	if (r != 0 || !fm_looks())
		return r;
	f = fm_file_by_fd(fd);
	if (f) {
		fm_file_advise(f, off, len, advice);
		fm_file_put(f);
	}
	return 0;
}

FM_ALIAS(posix_fallocate)
int posix_fallocate64(int fd, off64_t off, off64_t len);
FM_ALIAS(posix_fadvise)
int posix_fadvise64(int fd, off64_t off, off64_t len, int advice) __THROW;

/* ---- sync --------------------------------------------------------------- */

/* Our write-back first, then the kernel's part, also after an error: what did
 * reach the file must become durable. */
static int sync_fd(bool raw, int fd, int (*call)(bool, int))
{
	struct fm_file *f;
	uint64_t old;
	int e, r;

	if (!raw)
		pthread_testcancel();
	fm_block_signals(&old); /* a handler may jump */
	f = fm_file_by_fd(fd);
	e = f ? fm_file_sync(f) : fm_errseq_take(fd);
	if (f)
		fm_file_put(f);
	fm_restore_signals(&old);
	r = call(raw, fd);
	return r == 0 ? (int)fm_result(e) : r;
}

static int call_fsync(bool raw, int fd)
{
	return FM_PASS_VIA(raw, fsync, SYS_fsync, fd);
}

static int call_fdatasync(bool raw, int fd)
{
	return FM_PASS_VIA(raw, fdatasync, SYS_fdatasync, fd);
}

static bool concerned(void)
{
	return !fm_holds && (fm_looks() || atomic_load(&fm_errseq_some));
}

int fm_do_fsync(bool raw, int fd)
{
	return concerned() ? sync_fd(raw, fd, call_fsync) : call_fsync(raw, fd);
}

int fm_do_fdatasync(bool raw, int fd)
{
	return concerned() ? sync_fd(raw, fd, call_fdatasync)
			   : call_fdatasync(raw, fd);
}

int fm_do_sync_file_range(bool raw, int fd, off64_t off, off64_t len,
			  unsigned flags)
{
	if (fm_looks() && off >= 0 && len >= 0 && fm_see(fd, off, len) < 0)
		return -1;
	return FM_PASS_VIA(raw, sync_file_range, SYS_sync_file_range, fd, off,
			   len, flags);
}

int fm_do_syncfs(bool raw, int fd)
{
	if (fm_looks())
		fm_engine_flush_all();
	return FM_PASS_VIA(raw, syncfs, SYS_syncfs, fd);
}

void fm_do_sync(bool raw)
{
	if (fm_looks())
		fm_engine_flush_all();
	if (!raw && FM_FOUND(sync))
		FM_FOUND(sync)();
	else
		fm_sys0(SYS_sync);
}

FM_HOOK void sync(void)
{
	fm_do_sync(false);
}
