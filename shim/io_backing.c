/* SPDX-License-Identifier: MIT */
#include "io_backing.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>

#define PIECE ((size_t)256 << 10) /* bytes at a time */

/* The source behind a descriptor that may be read. True: it is one; without
 * *ret its bytes cannot be had, and errno says why. */
static bool source_of(int fd, struct fm_backing **ret)
{
	int err;

	*ret = fm_backing_by_fd(fd, &err);
	if (err)
		errno = -err;
	return *ret || err;
}

static bool may_read(int fd)
{
	const long flags = fm_sys3(SYS_fcntl, fd, F_GETFL, 0);

	return flags >= 0 && !(flags & O_PATH) &&
	       (flags & O_ACCMODE) != O_WRONLY;
}

/* ---- read --------------------------------------------------------------- */

/* One piece into memory of the program's, by way of ours. */
static ssize_t backing_read_some(struct fm_backing *s, char *to, size_t n,
				 off_t off, char *mem)
{
	long r = fm_backing_read(s, mem, (uint64_t)off, n < PIECE ? n : PIECE);

	return r > 0 && !fm_user_write(to, mem, (size_t)r) ? -EFAULT : r;
}

static ssize_t backing_read_iov(struct fm_backing *s, const struct iovec *v,
				off_t off, char *mem)
{
	size_t got = 0;

	while (got < v->iov_len) {
		ssize_t r = backing_read_some(s, (char *)v->iov_base + got,
					      v->iov_len - got,
					      off + (off_t)got, mem);

		if (r < 0 && !got)
			return r;
		if (r <= 0)
			break;
		got += (size_t)r;
	}
	return (ssize_t)got;
}

static ssize_t backing_read_vec(struct fm_backing *s, const struct iovec *iov,
				int cnt, off_t off)
{
	char *mem = fm_sys_anon(PIECE);
	ssize_t all = 0;

	if (!mem)
		return -ENOMEM;
	for (int i = 0; i < cnt; i++) {
		ssize_t r = backing_read_iov(s, &iov[i], off + all, mem);

		if (r < 0 && !all)
			all = r;
		if (r < 0)
			break;
		all += r;
		if ((size_t)r < iov[i].iov_len)
			break;
	}
	fm_sys_munmap(mem, PIECE);
	return all;
}

static ssize_t backing_read_at(struct fm_backing *s, int fd,
			       const struct iovec *iov, int cnt, off_t off)
{
	const off_t at = off == FM_HERE ?
				 fm_sys3(SYS_lseek, fd, 0, SEEK_CUR) : off;
	struct fm_vec v = { .iov = NULL };
	ssize_t r = at < 0 ? (ssize_t)at : cnt < 0 || cnt > IOV_MAX ?
		    -EINVAL : fm_vec_read(&v, iov, (size_t)cnt);

	if (r)
		return r;
	r = backing_read_vec(s, v.iov, cnt, at);
	if (r > 0 && off == FM_HERE)
		fm_sys3(SYS_lseek, fd, at + r, SEEK_SET);
	fm_vec_free(&v, (size_t)cnt);
	return r;
}

bool fm_backing_reads(int fd, const struct iovec *iov, int cnt, off_t off,
		     ssize_t *ret)
{
	const int saved = errno;
	struct fm_backing *s;

	if (!source_of(fd, &s) || !may_read(fd)) {
		errno = saved;
		return false;
	}
	*ret = s ? fm_result(backing_read_at(s, fd, iov, cnt, off)) : -1;
	return true;
}

/* ---- lseek -------------------------------------------------------------- */

/* It is all data. */
static off_t seek_to(off_t size, off_t off, int whence)
{
	if (whence == SEEK_END)
		return size + off;
	if (off < 0 || off >= size)
		return -ENXIO;
	return whence == SEEK_DATA ? off : size;
}

bool fm_backing_seeks(int fd, off_t off, int whence, off_t *ret)
{
	struct fm_backing *s;
	off_t to;

	if ((whence != SEEK_END && whence != SEEK_DATA &&
	     whence != SEEK_HOLE) || !source_of(fd, &s))
		return false;
	*ret = -1;
	if (!s)
		return true;
	to = seek_to(fm_backing_size(s), off, whence);
	*ret = fm_result(to == -ENXIO ? to :
			 fm_sys3(SYS_lseek, fd, to, SEEK_SET));
	return true;
}

/* ---- what it is not ----------------------------------------------------- */

bool fm_backing_copies(int fd)
{
	struct fm_backing *s;

	if (!source_of(fd, &s))
		return false;
	if (s)
		errno = EINVAL;
	return true;
}

int fm_backing_opened(int fd, int flags)
{
	struct fm_backing *s;

	if (fd < 0 || (flags & O_PATH) || (flags & O_ACCMODE) == O_RDONLY ||
	    !source_of(fd, &s))
		return fd;
	fm_sys_close(fd);
	errno = EROFS;
	return -1;
}

static int look(int dirfd, const char *path, bool follow)
{
	return (int)fm_sys4(SYS_openat, dirfd, path,
			    O_PATH | O_CLOEXEC | (follow ? 0 : O_NOFOLLOW), 0);
}

int fm_backing_is(int fd)
{
	const int saved = errno;
	struct fm_backing *s;

	if (source_of(fd, &s))
		return s ? 1 : -1;
	errno = saved;
	return 0;
}

int fm_backing_at(const char *path)
{
	int fd = look(AT_FDCWD, path, true), is;

	if (fd < 0)
		return 0;
	is = fm_backing_is(fd);
	fm_sys_close(fd);
	return is;
}

/* ---- stat --------------------------------------------------------------- */

/* Which argument is what; -1: there is none. */
struct stat_call {
	const char *name;
	signed char fd, path, to, flags;
	bool link; /* of the link itself */
};

static const struct stat_call stat_calls[] = {
	{ "stat", -1, 0, 1, -1, false },
	{ "lstat", -1, 0, 1, -1, true },
	{ "fstat", 0, -1, 1, -1, false },
	{ "fstatat", 0, 1, 2, 3, false },
	{ "statx", 0, 1, 4, 2, false },
	{ "__xstat", -1, 1, 2, -1, false },
	{ "__lxstat", -1, 1, 2, -1, true },
	{ "__fxstat", 1, -1, 2, -1, false },
	{ "__fxstatat", 1, 2, 3, 4, false },
};

static const struct stat_call *call_named(const char *name)
{
	const struct stat_call *c = stat_calls;

	for (size_t n = sizeof(stat_calls) / sizeof(*c); n--; c++) {
		const size_t len = strlen(c->name);

		if (!strncmp(name, c->name, len) &&
		    (!name[len] || !strcmp(name + len, "64")))
			return c;
	}
	return NULL;
}

/* *ret_close: the number was made for this. */
static int its_number(const struct stat_call *c, const long v[6],
		      bool *ret_close)
{
	const char *path = c->path < 0 ? "" : (const char *)v[(int)c->path];
	const int dir = c->fd < 0 ? AT_FDCWD : (int)v[(int)c->fd];
	const bool link = c->link ||
		(c->flags >= 0 && (v[(int)c->flags] & AT_SYMLINK_NOFOLLOW));

	*ret_close = path && *path;
	return *ret_close ? look(dir, path, !link) : dir;
}

/* Only what is empty can be one, and that the kernel has just said. */
static bool looks_empty(bool x, const void *to)
{
	struct statx sx;
	struct stat st;

	if (x)
		return fm_user_reread(&sx, to, sizeof(sx)) &&
		       S_ISREG(sx.stx_mode) && !sx.stx_size;
	return fm_user_reread(&st, to, sizeof(st)) && S_ISREG(st.st_mode) &&
	       !st.st_size;
}

static void show_size(bool x, void *to, int64_t size)
{
	const int64_t blocks = (size + 511) / 512;
	struct statx sx;
	struct stat st;

	if (x && fm_user_reread(&sx, to, sizeof(sx))) {
		sx.stx_size = (uint64_t)size;
		sx.stx_blocks = (uint64_t)blocks;
		fm_user_rewrite(to, &sx, sizeof(sx));
	} else if (!x && fm_user_reread(&st, to, sizeof(st))) {
		st.st_size = size;
		st.st_blocks = blocks;
		fm_user_rewrite(to, &st, sizeof(st));
	}
}

long fm_backing_stats(const char *name, const long v[6], long r)
{
	const struct stat_call *c = call_named(name);
	const int saved = errno;
	const bool x = c && !strcmp(c->name, "statx");
	struct fm_backing *s;
	bool made, is;
	int fd;

	if (!c || !looks_empty(x, (void *)v[(int)c->to]))
		return r;
	fd = its_number(c, v, &made);
	is = fd >= 0 && source_of(fd, &s);
	if (made && fd >= 0)
		fm_sys_close(fd);
	if (is && !s)
		return -1;
	if (is)
		show_size(x, (void *)v[(int)c->to], fm_backing_size(s));
	errno = saved;
	return r;
}
