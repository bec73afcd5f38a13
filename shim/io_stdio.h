/* SPDX-License-Identifier: MIT */
/* io_stdio.h - what the stdio hooks share; io_stdio.c says how it works. */
#pragma once

/* stdio.h must not define as inline functions what we define here. */
#ifndef __NO_INLINE__
#define __NO_INLINE__ 1
#endif
#include "guard.h"

#include <stdio.h>

struct fm_stdio {
	/* NULL: only noted, for a first mmap (fm_write_enter) */
	struct fm_file *file;
	unsigned slot;
	FILE *locked;
	struct fm_change change;
	bool failed; /* write-back failed, errno is set: do not call */
};

/* Libc's own rule: not as long as the program has one thread. What is looked at
 * then stays as it is until the call, which libc makes of a few instructions
 * itself. */
static inline bool fm_stdio_locks(const FILE *fp)
{
	return fp->_flags2 & 128 /* _IO_FLAGS2_NEED_LOCK, glibc 2.26 */;
}

/* Can n more bytes be taken without a system call? Line-buffered and
 * unbuffered streams keep _IO_write_end at the base. */
static inline bool fm_stdio_fits(const FILE *fp, size_t n)
{
	return fp->_IO_write_end > fp->_IO_write_ptr &&
	       (size_t)(fp->_IO_write_end - fp->_IO_write_ptr) > n;
}

/* As byte count: the call writes the buffer out. */
#define FM_STDIO_FLUSH ((size_t)-1)

/* Before a call that adds n bytes to the stream. False: nothing to do, no end
 * either. `lock`: take the stream's lock (not for the _unlocked names). The
 * call may be a cancellation point: the end, of a struct fm_stdio, is a cleanup
 * handler. */
bool fm_stdio_begin(struct fm_stdio *s, FILE *fp, size_t n, bool lock);
void fm_stdio_end(void *s);
/* The stream's lock, given back by a thread that is cancelled. */
void fm_stdio_unlock(void *fp);

/* Before a call that may fill the stream's buffer. 0, or -1 and errno. */
int fm_stdio_see(FILE *fp, bool lock);
/* Write the buffer out if the file is managed. 0 or EOF. */
int fm_stdio_flush(FILE *fp, bool lock);

/* fread and fwrite of what `one` moves, each time no more than a transfer can
 * move, as one call. Ends with the first that is short; returns items. */
typedef size_t (*fm_stdio_one)(FILE *fp, void *buf, size_t n, bool lock);
size_t fm_stdio_items(FILE *fp, void *buf, size_t size, size_t n, bool lock,
		      fm_stdio_one one);
/* Not of these: nothing is mapped, or libc's own answer is it. */
static inline bool fm_stdio_none(size_t size, size_t n)
{
	size_t bytes;

	return !fm_on() || __builtin_mul_overflow(size, n, &bytes) || !bytes;
}

/* From or to memory of ours: `call` gets what may be handed to libc, the stream
 * (arg), and whether to lock it (flags). */
size_t fm_stdio_guarded(FILE *fp, void *buf, size_t n, bool lock, bool in,
			ssize_t (*call)(const struct fm_rw *,
					const struct iovec *, int, off_t));

/* Does the stream end in a regular file that is not managed? */
bool fm_stdio_may_pin(FILE *fp);
