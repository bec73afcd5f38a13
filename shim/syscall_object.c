/* SPDX-License-Identifier: MIT */
/*
 * syscall_object.c - syscall() by the number of a call that reads or fills an
 * object of the program (syscall.c has the others). A row says where that is
 * and how long; in managed memory it is replaced by a copy, and so is a path.
 */
#include "guard.h"

#include <sys/stat.h>
#include <sys/statfs.h>


#define NONE (-1)

static const struct row {
	short nr;
	signed char path, buf, len; /* which argument, or none */
	unsigned char how;
	unsigned short size; /* where no argument has it */
} rows[] = {
	{ SYS_getdents, NONE, 1, 2, FM_COPY_OUT, 0 },
	{ SYS_getdents64, NONE, 1, 2, FM_COPY_OUT, 0 },
	{ SYS_getcwd, NONE, 0, 1, FM_COPY_OUT, 0 },
	{ SYS_readlink, 0, 1, 2, FM_COPY_OUT, 0 },
	{ SYS_readlinkat, 1, 2, 3, FM_COPY_OUT, 0 },
	{ SYS_getxattr, 0, 2, 3, FM_COPY_OUT, 0 },
	{ SYS_lgetxattr, 0, 2, 3, FM_COPY_OUT, 0 },
	{ SYS_fgetxattr, NONE, 2, 3, FM_COPY_OUT, 0 },
	{ SYS_listxattr, 0, 1, 2, FM_COPY_OUT, 0 },
	{ SYS_llistxattr, 0, 1, 2, FM_COPY_OUT, 0 },
	{ SYS_flistxattr, NONE, 1, 2, FM_COPY_OUT, 0 },
	{ SYS_setxattr, 0, 2, 3, FM_COPY_IN, 0 },
	{ SYS_lsetxattr, 0, 2, 3, FM_COPY_IN, 0 },
	{ SYS_fsetxattr, NONE, 2, 3, FM_COPY_IN, 0 },
	{ SYS_stat, 0, 1, NONE, FM_COPY_OUT, sizeof(struct stat) },
	{ SYS_lstat, 0, 1, NONE, FM_COPY_OUT, sizeof(struct stat) },
	{ SYS_fstat, NONE, 1, NONE, FM_COPY_OUT, sizeof(struct stat) },
	{ SYS_statx, 1, 4, NONE, FM_COPY_OUT, sizeof(struct statx) },
	{ SYS_statfs, 0, 1, NONE, FM_COPY_OUT, sizeof(struct statfs) },
	{ SYS_fstatfs, NONE, 1, NONE, FM_COPY_OUT, sizeof(struct statfs) },
};

static const struct row *row_of(long nr)
{
	for (size_t i = 0; i < sizeof(rows) / sizeof(*rows); i++)
		if (rows[i].nr == nr)
			return &rows[i];
	return NULL;
}

static long made(long nr, const long v[6])
{
	return fm_result(fm_sys6(nr, v[0], v[1], v[2], v[3], v[4], v[5]));
}

FM_SLOW long with_path(long nr, const struct row *w, long v[6])
{
	char copy[FM_PATH_BUF];

	v[w->path] = (long)fm_path((const char *)v[w->path], copy);
	return made(nr, v);
}

FM_SLOW long with_copy(long nr, const struct row *w, long v[6], size_t len)
{
	struct fm_object b;
	size_t got;
	long r;

	v[w->buf] = (long)fm_object(&b, (const void *)v[w->buf], len, w->how);
	r = w->path == NONE ? made(nr, v) : with_path(nr, w, v);
	got = r < 0 || w->how == FM_COPY_IN ? 0
	      : w->len == NONE		    ? len
					    : (size_t)r;
	return fm_object_end(&b, got) ? r : fm_result(-EFAULT);
}

/* Said to exist in syscall.c. -2: none of these, or nothing of ours is in
 * it. */
long fm_syscall_object(long nr, long a, long b, long c, long d, long e);
long fm_syscall_object(long nr, long a, long b, long c, long d, long e)
{
	long v[6] = { a, b, c, d, e, 0 };
	const struct row *w;
	size_t len;

	if (nr == SYS_ioctl)
		return fm_do_ioctl(true, (int)a, (unsigned long)b, (void *)c);
	w = row_of(nr);
	if (!w || !fm_looks())
		return -2;
	len = w->len == NONE ? w->size : (size_t)v[w->len];
	if (len && fm_data_in((const void *)v[w->buf], len))
		return with_copy(nr, w, v, len);
	if (w->path != NONE && fm_data_in((const void *)v[w->path], 1))
		return with_path(nr, w, v);
	return -2;
}
