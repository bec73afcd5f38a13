/* SPDX-License-Identifier: MIT */
/*
 * io_backing.h - calls on a file that is empty and whose bytes come from a
 * source (src/io/backing.h): they are answered here, for the kernel does not
 * have them. Such a file is as on a read-only file system.
 */
#pragma once

#include "guard.h"

#include <sys/types.h>
#include <sys/uio.h>

/* May a call on a file have to do with one? */
static inline bool fm_may_be_sourced(void)
{
	return fm_sourced() && !fm_holds;
}

/* True: it is one, and *ret is what the call returns, with errno. */
bool fm_backing_reads(int fd, const struct iovec *iov, int cnt, off_t off,
		     ssize_t *ret);
bool fm_backing_seeks(int fd, off_t off, int whence, off_t *ret);
/* The kernel shall copy from it: who is told EINVAL reads and writes. */
bool fm_backing_copies(int fd);
/* What open has returned: fd, or -1 and EROFS. */
int fm_backing_opened(int fd, int flags);
/* 1: it is one; 0: it is not; -1: its bytes cannot be had, and errno. */
int fm_backing_is(int fd);
int fm_backing_at(const char *path);
/* A call of the stat family, by its name, has succeeded: r, or -1 and errno. */
long fm_backing_stats(const char *name, const long v[6], long r);
