/* SPDX-License-Identifier: MIT */
#include "new_file.h"

#include "sys.h"
#include "text.h"

#define SAFE (O_NOFOLLOW | O_NONBLOCK | O_NOCTTY)
#define NEW (O_WRONLY | O_CREAT | O_EXCL | SAFE)

/* What may be replaced. A device has been made by root. */
static int new_file_judge(const struct stat *st)
{
	if (S_ISLNK(st->st_mode))
		return -ELOOP;
	if (S_ISDIR(st->st_mode))
		return -EISDIR;
	return S_ISREG(st->st_mode) || S_ISCHR(st->st_mode) ? 0 : -EEXIST;
}

static bool new_file_is_known(const struct stat *st)
{
	return S_ISCHR(st->st_mode) ||
	       (S_ISREG(st->st_mode) && st->st_nlink == 1 &&
		(!st->st_uid || st->st_uid == (uid_t)fm_sys0(SYS_geteuid)));
}

static int open_in_place(const char *path)
{
	int fd = fm_sys_open(path, O_WRONLY | SAFE, 0), err;
	struct stat st;

	if (fd < 0)
		return fd;
	err = fm_sys_fstat(fd, &st);
	if (!err && !new_file_is_known(&st))
		err = -EPERM;
	if (!err && S_ISREG(st.st_mode))
		err = (int)fm_sys2(SYS_ftruncate, fd, 0);
	if (!err)
		return fd;
	fm_sys_close(fd);
	return err;
}

/* "/x/a.prom.1234.tmp", where `path` is /x/a.prom. */
static int new_file_beside(const char *path, int by, char *buf, size_t size)
{
	char digits[12], end[20];

	fm_number_text(digits, (unsigned)by);
	fm_join(end, sizeof(end), digits, ".tmp", "");
	return fm_join(buf, size, path, ".", end) ? -ENAMETOOLONG : 0;
}

/* One that was left half written goes; somebody else's stays, and is in the
 * way. */
static int open_beside(struct fm_new_file *n, const char *path, int by)
{
	int err = new_file_beside(path, by, n->temporary, sizeof(n->temporary));

	if (err)
		return err;
	fm_sys_unlink(n->temporary);
	return fm_sys_open(n->temporary, NEW, 0644);
}

/* Who may read the old one may read the new one. */
static void keep_mode(int fd, const struct stat *old)
{
	if (S_ISREG(old->st_mode) &&
	    old->st_uid == (uid_t)fm_sys0(SYS_geteuid))
		fm_sys2(SYS_fchmod, fd, old->st_mode & 0777);
}

int fm_new_file_begin(struct fm_new_file *n, const char *path, int by)
{
	struct stat st;
	int err = fm_sys_lstat(path, &st);
	const bool there = !err;

	err = there ? new_file_judge(&st) : err == -ENOENT ? 0 : err;
	if (err)
		return err;
	n->beside = !there || S_ISREG(st.st_mode);
	n->fd = n->beside ? open_beside(n, path, by) : -EACCES;
	if (n->fd >= 0 && there)
		keep_mode(n->fd, &st);
	if (n->fd < 0 && there && n->fd != -EMFILE && n->fd != -ENFILE) {
		n->beside = false;
		n->fd = open_in_place(path);
	}
	return n->fd < 0 ? n->fd : 0;
}

int fm_new_file_name(const struct fm_new_file *n, const char *path)
{
	int err = n->beside ? fm_sys_rename(n->temporary, path) : 0;

	if (err)
		fm_sys_unlink(n->temporary);
	return err;
}

int fm_new_file_end(struct fm_new_file *n, const char *path, int err)
{
	fm_sys_close(n->fd);
	if (err && n->beside)
		fm_sys_unlink(n->temporary);
	return err ? err : fm_new_file_name(n, path);
}

static int write_spared(const char *path, const void *text, size_t len)
{
	int fd = fm_sys_open(path, NEW, 0644), err;

	if (fd < 0)
		return fd == -EEXIST ? 0 : fd;
	err = fm_sys_write_all(fd, text, len);
	fm_sys_close(fd);
	return err;
}

int fm_new_file_write(const char *path, int by, const void *text, size_t len,
		      bool spare)
{
	struct fm_new_file n;
	int err;

	if (spare)
		return write_spared(path, text, len);
	err = fm_new_file_begin(&n, path, by);
	return err ? err :
		fm_new_file_end(&n, path, fm_sys_write_all(n.fd, text, len));
}
