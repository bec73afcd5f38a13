/* SPDX-License-Identifier: MIT */
#include "dir.h"

#include <dirent.h>
#include <string.h>
#include <sys/file.h>

#include "base/proc.h"
#include "base/sys.h"
#include "base/text.h"
#include "base/types.h"
#include "state.h"

#define STATES 256 /* size: of the folder, files, */
#define STATES_BYTES ((uint64_t)256 << 20) /* size: and bytes */

#define SUFFIX ".state"
#define DIGITS 16 /* size: of a name, 64 bits */
#define NAME (DIGITS + sizeof(SUFFIX))
#define OTHERS_WRITE (S_IWGRP | S_IWOTH)

static bool is_own(const struct stat *st)
{
	return st->st_uid == (uid_t)fm_sys0(SYS_geteuid) &&
	       !(st->st_mode & OTHERS_WRITE);
}

/* ---- the directory ------------------------------------------------------- */

/* Those above it, too, as the rules for XDG_STATE_HOME have it. */
static void make_all(const char *path)
{
	char part[FM_WARM_PATH];

	if (fm_join(part, sizeof(part), path, "", ""))
		return;
	for (char *at = part + 1; (at = strchr(at, '/')); *at++ = '/') {
		*at = 0;
		fm_sys_mkdir(part, 0700);
	}
	fm_sys_mkdir(part, 0700);
}

int fm_warm_dir_open(const char *path, bool make)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
	int fd = fm_sys_open(path, flags, 0);
	struct stat st;

	if (fd == -ENOENT && make) {
		make_all(path);
		fd = fm_sys_open(path, flags, 0);
	}
	if (fd < 0)
		return fd;
	if (fm_sys_fstat(fd, &st) || !is_own(&st)) {
		fm_sys_close(fd);
		return -EPERM;
	}
	return fd;
}

/* FNV-1a. Two paths with one sum share a state, which has its file's path. */
static void dir_name_of(const char *path, char name[NAME])
{
	uint64_t h = 0xcbf29ce484222325;

	for (; *path; path++)
		h = (h ^ (uint8_t)*path) * 0x100000001b3;
	for (int i = 0; i < DIGITS; i++, h <<= 4)
		name[i] = "0123456789abcdef"[h >> 60];
	memcpy(name + DIGITS, SUFFIX, sizeof(SUFFIX));
}

/* ---- reading ----------------------------------------------------------- */

/* All that the file has now, or it is none of ours. */
static int read_whole(int fd, uint8_t *buf, size_t len)
{
	long n = fm_sys_read_all(fd, buf, len);

	return n < 0 ? (int)n : (size_t)n < len ? -EBADMSG : 0;
}

static uint8_t *read_fd(int fd, size_t *ret_len, int *ret_err)
{
	struct stat st;
	uint8_t *buf = NULL;

	*ret_err = fm_sys_fstat(fd, &st);
	if (!*ret_err && (!S_ISREG(st.st_mode) || !is_own(&st)))
		*ret_err = -EPERM;
	if (!*ret_err && (!st.st_size || (size_t)st.st_size > FM_WARM_BYTES))
		*ret_err = -EBADMSG;
	if (*ret_err)
		return NULL;
	*ret_len = (size_t)st.st_size;
	buf = fm_sys_anon(fm_page_up(*ret_len));
	*ret_err = buf ? read_whole(fd, buf, *ret_len) : -ENOMEM;
	if (buf && *ret_err) {
		fm_warm_dir_free(buf, *ret_len);
		buf = NULL;
	}
	return buf;
}

uint8_t *fm_warm_dir_read(int dir, const char *path, size_t *ret_len,
			  int *ret_lock, int *ret_err)
{
	const int flags = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY |
			  O_CLOEXEC;
	char name[NAME];
	uint8_t *buf = NULL;
	int fd;

	dir_name_of(path, name);
	fd = (int)fm_sys4(SYS_openat, dir, name, flags, 0);
	*ret_lock = -1;
	*ret_err = fd < 0 ? fd : 0;
	if (fd < 0)
		return NULL;
	buf = read_fd(fd, ret_len, ret_err);
	if (buf && !fm_sys2(SYS_flock, fd, LOCK_EX | LOCK_NB))
		*ret_lock = fd;
	else
		fm_sys_close(fd);
	return buf;
}

void fm_warm_dir_free(uint8_t *bytes, size_t len)
{
	fm_sys_munmap(bytes, fm_page_up(len));
}

/* ---- the oldest go ------------------------------------------------------- */

struct oldest {
	int dir;
	char name[NAME];
	struct timespec at;
	unsigned n;
	uint64_t bytes;
};

static bool is_state(const char *name)
{
	return strlen(name) == NAME - 1 && !strcmp(name + DIGITS, SUFFIX);
}

static bool is_earlier(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec ||
	       (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

static void note_state(const char *name, void *arg)
{
	struct oldest *o = arg;
	struct stat st;

	if (!is_state(name) || fm_sys4(SYS_newfstatat, o->dir, name, &st,
				       AT_SYMLINK_NOFOLLOW))
		return;
	if (!o->n || is_earlier(&st.st_mtim, &o->at)) {
		memcpy(o->name, name, NAME);
		o->at = st.st_mtim;
	}
	o->n++;
	o->bytes += (uint64_t)st.st_size;
}

static void find_oldest(int dir, struct oldest *o)
{
	_Alignas(8) char buf[8192];

	*o = (struct oldest){ .dir = dir };
	fm_sys3(SYS_lseek, dir, 0, SEEK_SET);
	fm_each_entry(dir, buf, sizeof(buf), note_state, o);
}

static void drop_oldest(int dir)
{
	struct oldest o;

	for (int k = 0; k < 16; k++) {
		find_oldest(dir, &o);
		if (o.n <= STATES && o.bytes <= STATES_BYTES)
			return;
		fm_sys3(SYS_unlinkat, dir, o.name, 0);
	}
}

/* ---- writing ----------------------------------------------------------- */

/* One for all processes: what one has left in the middle the next one takes
 * away, and of two at the same time one writes. */
static int open_new(int dir, const char *name)
{
	const int flags = O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC;
	struct stat st;
	struct timespec now;
	int fd = (int)fm_sys4(SYS_openat, dir, name, flags, 0600);

	if (fd != -EEXIST)
		return fd;
	fm_clock(CLOCK_REALTIME, &now);
	if (fm_sys4(SYS_newfstatat, dir, name, &st, AT_SYMLINK_NOFOLLOW) ||
	    (st.st_mtime <= now.tv_sec && st.st_mtime + 10 > now.tv_sec))
		return -EBUSY;
	fm_sys3(SYS_unlinkat, dir, name, 0);
	return (int)fm_sys4(SYS_openat, dir, name, flags, 0600);
}

static bool dir_is_there(int dir, const char *name)
{
	struct stat st;

	return !fm_sys4(SYS_newfstatat, dir, name, &st, AT_SYMLINK_NOFOLLOW);
}

int fm_warm_dir_write(int dir, const char *path, const uint8_t *bytes,
		      size_t len)
{
	char name[NAME], temporary[NAME + 4];
	bool old;
	int fd, err;

	dir_name_of(path, name);
	fm_join(temporary, sizeof(temporary), name, ".new", "");
	fd = open_new(dir, temporary);
	if (fd < 0)
		return fd;
	err = fm_sys_write_all(fd, bytes, len);
	fm_sys_close(fd);
	old = dir_is_there(dir, name);
	if (!err)
		err = (int)fm_sys4(SYS_renameat, dir, temporary, dir, name);
	if (err)
		fm_sys3(SYS_unlinkat, dir, temporary, 0);
	else if (!old)
		drop_oldest(dir);
	return err;
}
