/* SPDX-License-Identifier: MIT */
/*
 * guard.h - what the io_*.c hooks share.
 *
 * Two jobs meet in every call that moves file data:
 *  - the kernel must be able to touch managed memory that it is handed. In
 *    signal delivery it cannot fault on it (EFAULT, or a lost datagram), so
 *    buffers are pinned, or replaced by ordinary memory ("bounced");
 *  - file and mappings must agree: dirty blocks reach the file before a read,
 *    our copies are held during a write and forgotten after it.
 *
 * Order within a thread: pin, stdio's FILE lock, serial lock, range lock,
 * system call, and back. Nothing behind a pin waits for another thread's pin.
 */
#pragma once

#include "shim.h"

#include <limits.h>
#include <stdarg.h>
#include <sys/uio.h>

#define FM_SLOW static __attribute__((noinline, cold))
#define FM_ALIAS(of) FM_HOOK __attribute__((alias(#of)))

/* The argument behind `last` in a hook with "...". */
#define FM_VARARG(last, type)                                             \
	({                                                                \
		type arg_;                                                \
		va_list ap_;                                              \
                                                                          \
		va_start(ap_, last);                                      \
		arg_ = va_arg(ap_, type);                                 \
		va_end(ap_);                                              \
		arg_;                                                     \
	})

/* A hook that does `first`, and then calls what is behind it. */
#define FM_FIRST(type, fn, params, first, call)                           \
	FM_NEXT(fn)                                                       \
	FM_HOOK type fn params                                            \
	{                                                                 \
		first;                                                    \
		return call;                                              \
	}

/* The most that one read or write moves (MAX_RW_COUNT of the kernel). */
#define FM_RW_MAX ((size_t)0x7ffff000)
/* A transfer that must stay whole is bounced up to this size. */
#define FM_BOUNCE_MAX ((size_t)16 << 20)

FM_ADDRESS_ONLY(1)
static inline bool fm_touches(const void *p, size_t len)
{
	__asm__("" : "+r"(p)); /* where it is inlined */
	return fm_looks() && fm_data_in(p, len);
}

/* The same, or it may become managed: for what ends in fm_transfer. */
static inline bool fm_may_touch(const void *p, size_t len)
{
	__asm__("" : "+r"(p));
	return fm_looks() &&
	       (fm_overlaps(p, len) ||
		(fm_any_promotable() &&
		 fm_krange_in(p, len)));
}

/* What uses it later is not seen by us: what is ours of it becomes the
 * kernel's. */
static inline void fm_demote_touched(const void *p, size_t len,
				     enum fm_server_reason why)
{
	if (fm_touches(p, len))
		fm_demote_range(p, len, why);
}

/* After a call that may have brought word from another process: what that one
 * did to our files before is heeded. */
static inline ssize_t fm_ipc_after(ssize_t r)
{
	if (r >= 0 && fm_active())
		fm_peers_acquire();
	return r;
}

/* Before one that may bring word to another process. */
static inline void fm_ipc_before(void)
{
	if (fm_active())
		fm_peers_release();
}

/* ---- data ------------------------------------------------------------- */

/* May a change of a file pass unseen? Not because nothing is mapped yet: the
 * first mapping has to know of the writes that began before it. */
static inline bool fm_idle(void)
{
	return !fm_looks() && !fm_on();
}

/* The short way of a read or write while nothing is mapped: the kernel judges
 * what it is given. False: something is, or [p, p + n), all that it is given,
 * may become so under the call. */
static inline bool fm_note_read_to(int fd, const void *p, size_t n,
				   unsigned *slot)
{
	if (fm_active() || (fm_any_promotable() && fm_krange_in(p, n)))
		return false;
	*slot = fm_read_enter(fd);
	if (!fm_active())
		return true;
	fm_read_leave(*slot);
	return false;
}

static inline bool fm_note_write_from(int fd, const void *p, size_t n,
				      unsigned *slot)
{
	if (fm_active() || (fm_any_promotable() && fm_krange_in(p, n)))
		return false;
	*slot = fm_write_enter(fd);
	if (!fm_active())
		return true;
	fm_write_leave(*slot);
	return false;
}

/* The same, given more than a look tells. */
static inline bool fm_note_read(int fd, unsigned *slot)
{
	return !fm_any_promotable() && fm_note_read_to(fd, NULL, 0, slot);
}

static inline bool fm_note_write(int fd, unsigned *slot)
{
	return !fm_any_promotable() && fm_note_write_from(fd, NULL, 0, slot);
}

#define FM_HERE ((off_t)-1) /* at the position of the descriptor */

struct fm_rw {
	int fd;
	bool raw;    /* behind the call is the kernel, see FM_PASS_VIA */
	bool in;     /* the kernel stores into the buffers */
	bool loop;   /* a whole piece asks for the next one */
	bool atomic; /* one system call or wrong: bounce, do not split */
	bool pin;    /* ends soon whatever happens: buffers may be pinned */
	bool keeps;  /* the kernel may read the buffers after the call */
	bool sized;  /* a file that is read, and ends after */
	off_t until; /* so many bytes */
	int flags;
	off_t off;   /* file offset, or FM_HERE */
	const struct iovec *iov;
	int cnt;
	void *arg;
	/* NULL, or before it is called for the rest: the failure was ours */
	void (*mend)(const struct fm_rw *rw);
	struct fm_file *file; /* managed file behind fd, or NULL */
	/* The system call for a part of the buffers, libc convention. Calls
	 * that take no iovec are only ever given one element if iov has one. */
	ssize_t (*call)(const struct fm_rw *rw, const struct iovec *iov,
			int cnt, off_t off);
};

/* Run one call of the read/write family: guard the buffers, keep the file
 * coherent. Returns as the call does. */
ssize_t fm_rw(struct fm_rw *rw);
/* One piece of it on rw->file, which is managed. */
ssize_t fm_change_call(const struct fm_rw *rw, const struct iovec *iov,
		       int cnt, size_t len, off_t off);
/* fm_rw without a file: sockets, vmsplice, stdio. The caller fills in loop,
 * atomic and pin. */
ssize_t fm_transfer(struct fm_rw *rw);
bool fm_is_stream(int fd); /* a stream socket */
bool fm_iov_touches(const struct iovec *iov, int cnt);

/* ---- files ------------------------------------------------------------ */

/*
 * A change of a managed file by a system call that cannot block for ever.
 * Between begin and end all signals and cancellation are off: the thread
 * holds pages that its own signal handlers may want.
 *
 *	(pthread_testcancel() where the call is a cancellation point)
 *	if (fm_change_fd(&c, fd)) {
 *		r = fm_change_lock(&c, off, len);
 *		if (r == 0)
 *			r = next(...);
 *		fm_change_end(&c, r >= 0, discard);
 *	}
 */
struct fm_change {
	struct fm_file *file;
	struct fm_range range;
	uint64_t mask;
	int cancel;
	bool held, serial, owned;
	struct fm_lock *lock;
};
bool fm_change_fd(struct fm_change *c, int fd);
bool fm_change_path(struct fm_change *c, int dirfd, const char *path);
void fm_change_file(struct fm_change *c, struct fm_file *f);
/* Serialise with everything that moves a position or the size. */
void fm_change_serial(struct fm_change *c);
/* 0, or -1 and errno. */
int fm_change_lock(struct fm_change *c, off_t off, off_t len);
/* For a hole in it. */
int fm_change_lock_hole(struct fm_change *c, off_t off, off_t len);
/* All from off on is about to be cut off. */
int fm_change_lock_cut(struct fm_change *c, off_t off);
void fm_change_end(struct fm_change *c, bool changed, bool discard);

/* Write-back so that a read of [off, off+len) sees every store; len 0 means
 * to the end. 0, or -1 and errno. */
int fm_see(int fd, off_t off, off_t len);

/* ---- small objects and paths ------------------------------------------ */

/* WHOLE: a call that succeeds stores all of it, changed or not. */
enum { FM_COPY_IN = 1, FM_COPY_OUT = 2, FM_COPY_WHOLE = 4 };

/* An object of the program that a call reads or writes. Ordinary memory is
 * passed on; managed memory is replaced by a copy, so that nothing is pinned
 * while the call blocks. Memory the kernel could not use either is passed on
 * for its EFAULT. */
struct fm_object {
	void *user, *mem;
	size_t len;
	char small[512];
};
void *fm_object(struct fm_object *b, const void *user, size_t len, int how);
/* Copy `len` bytes back and let go. Keeps errno. False: they cannot all be
 * stored. */
bool fm_object_end(struct fm_object *b, size_t len);

/* How much of [p, p + len), from p on, the kernel could use; loads what is
 * missing. Nothing stays pinned. */
size_t fm_usable(const void *p, size_t len, bool in);

/* A path in managed memory, copied to `copy` so that the kernel can read it. */
#define FM_PATH_BUF (PATH_MAX + 2)
const char *fm_path(const char *path, char *copy);
