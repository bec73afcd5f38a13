/* SPDX-License-Identifier: MIT */
/*
 * io_misc.c - small objects that the kernel reads or fills: stat buffers,
 * event arrays, messages, random bytes, record locks. All are replaced by
 * copies when they lie in managed memory, so that nothing is pinned while a
 * call blocks.
 */
#include "guard.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdarg.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/file.h>
#include <sys/msg.h>
#include <sys/random.h>
#include <sys/select.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/xattr.h>

#include "io_object.h"

extern void __chk_fail(void) __attribute__((noreturn));

int __fxstat(int ver, int fd, struct stat *buf);
int __fxstat64(int ver, int fd, struct stat64 *buf);

/* clang-format off */
OBJECT_(int, fstat, (int fd, struct stat *buf),
	buf, sizeof(*buf), OUT, WHOLE,
	(int)fm_ipc_after(FM_PASS(fstat, SYS_fstat, fd, buf)), fd, buf)
OBJECT_LATE(int, __fxstat, (int ver, int fd, struct stat *buf),
	    buf, sizeof(*buf), OUT, WHOLE, ver, fd, buf)
OBJECT(int, fstatfs, SYS_fstatfs, (int fd, struct statfs *buf),
       buf, sizeof(*buf), OUT, WHOLE, fd, buf)
OBJECT(ssize_t, getdents64, SYS_getdents64, (int fd, void *buf, size_t n),
       buf, n, OUT, COUNT, fd, buf, n)
OBJECT(ssize_t, fgetxattr, SYS_fgetxattr,
       (int fd, const char *name, void *buf, size_t n),
       buf, n, OUT, COUNT, fd, name, buf, n)
OBJECT(ssize_t, flistxattr, SYS_flistxattr, (int fd, char *buf, size_t n),
       buf, n, OUT, COUNT, fd, buf, n)
OBJECT(int, fsetxattr, SYS_fsetxattr,
       (int fd, const char *name, const void *buf, size_t n, int flags),
       buf, n, IN, 0, fd, name, buf, n, flags)
OBJECT(ssize_t, getrandom, SYS_getrandom,
       (void *buf, size_t n, unsigned flags),
       buf, n, OUT, COUNT, buf, n, flags)
OBJECT_LATE(int, getentropy, (void *buf, size_t n),
	    buf, n, OUT, r == 0 ? n : 0, buf, n)
OBJECT_(int, epoll_wait, (int fd, struct epoll_event *ev, int max, int timeout),
	ev, (size_t)(max > 0 ? max : 0) * sizeof(*ev), OUT,
	r > 0 ? (size_t)r * sizeof(*ev) : 0,
	(int)fm_ipc_after(FM_PASS(epoll_wait, SYS_epoll_wait, fd, ev, max,
				  timeout)),
	fd, ev, max, timeout)
OBJECT(int, epoll_ctl, SYS_epoll_ctl,
       (int fd, int op, int target, struct epoll_event *ev),
       ev, sizeof(*ev), IN, 0, fd, op, target, ev)
OBJECT_(int, msgsnd, (int id, const void *msg, size_t n, int flags),
	msg, n + sizeof(long), IN, 0,
	(fm_ipc_before(), FM_PASS(msgsnd, SYS_msgsnd, id, msg, n, flags)),
	id, msg, n, flags)
OBJECT_(ssize_t, msgrcv, (int id, void *msg, size_t n, long type, int flags),
	msg, n + sizeof(long), OUT, r >= 0 ? (size_t)r + sizeof(long) : 0,
	fm_ipc_after(FM_PASS(msgrcv, SYS_msgrcv, id, msg, n, type, flags)),
	id, msg, n, type, flags)
/* clang-format on */

FM_ALIAS(fstat) int fstat64(int fd, struct stat64 *buf) __THROW __nonnull((2));
FM_ALIAS(__fxstat) int __fxstat64(int ver, int fd, struct stat64 *buf);
FM_ALIAS(fstatfs)
int fstatfs64(int fd, struct statfs64 *buf) __THROW __nonnull((2));

/* ---- getcwd -------------------------------------------------------------- */

FM_NEXT(getcwd)
char *__getcwd_chk(char *buf, size_t n, size_t room);

FM_SLOW char *getcwd_slow(char *buf, size_t n)
{
	struct fm_object b;
	char *mem = fm_object(&b, buf, n, FM_COPY_OUT);
	char *r = FM_LATE(getcwd)(mem, n);

	fm_object_end(&b, r ? strlen(mem) + 1 : 0);
	return r ? buf : NULL;
}

FM_HOOK char *getcwd(char *buf, size_t n)
{
	if (!buf || !fm_touches(buf, n))
		return FM_LATE(getcwd)(buf, n);
	return getcwd_slow(buf, n);
}

FM_HOOK char *__getcwd_chk(char *buf, size_t n, size_t room)
{
	if (n > room)
		__chk_fail();
	return getcwd(buf, n);
}

/* ---- select -------------------------------------------------------------- */

FM_NEXT(select)
int __select(int n, fd_set *rd, fd_set *wr, fd_set *ex, struct timeval *t);

FM_SLOW int select_slow(int n, fd_set *rd, fd_set *wr, fd_set *ex,
			struct timeval *t)
{
	const size_t size = ((size_t)(n > 0 ? n : 0) + 63) / 64 * 8;
	struct fm_object b[4];
	int r;

	rd = fm_object(&b[0], rd, size, BOTH);
	wr = fm_object(&b[1], wr, size, BOTH);
	ex = fm_object(&b[2], ex, size, BOTH);
	t = fm_object(&b[3], t, sizeof(*t), BOTH);
	r = FM_PASS(select, SYS_select, n, rd, wr, ex, t);
	for (int i = 0; i < 3; i++)
		fm_object_end(&b[i], r >= 0 ? size : 0);
	fm_object_end(&b[3], sizeof(*t)); /* updated on errors too */
	return r;
}

FM_HOOK int select(int n, fd_set *rd, fd_set *wr, fd_set *ex,
		   struct timeval *t)
{
	if (!fm_looks())
		return FM_PASS(select, SYS_select, n, rd, wr, ex, t);
	if (!fm_data_in(rd, 1) && !fm_data_in(wr, 1) && !fm_data_in(ex, 1) &&
	    !fm_data_in(t, 1))
		return (int)fm_ipc_after(
			FM_PASS(select, SYS_select, n, rd, wr, ex, t));
	return (int)fm_ipc_after(select_slow(n, rd, wr, ex, t));
}

FM_ALIAS(select)
int __select(int n, fd_set *rd, fd_set *wr, fd_set *ex, struct timeval *t);

/* ---- fcntl ------------------------------------------------------------- */

FM_NEXT(fcntl)
FM_NEXT(flock)
FM_NEXT(lockf)

/* Bytes behind the pointer argument of fcntl, 0 when it is a number. */
static size_t fcntl_size(int cmd)
{
	switch (cmd) {
	case F_GETLK:
	case F_SETLK:
	case F_SETLKW:
	case F_OFD_GETLK:
	case F_OFD_SETLK:
	case F_OFD_SETLKW:
		return sizeof(struct flock);
	case F_GETOWN_EX:
	case F_SETOWN_EX:
		return sizeof(struct f_owner_ex);
	case F_GET_RW_HINT:
	case F_SET_RW_HINT:
	case F_GET_FILE_RW_HINT:
	case F_SET_FILE_RW_HINT:
		return sizeof(uint64_t);
	default:
		return 0;
	}
}

/* The others may be given read-only memory. */
static bool fcntl_fills(int cmd)
{
	return cmd == F_GETLK || cmd == F_OFD_GETLK || cmd == F_GETOWN_EX ||
	       cmd == F_GET_RW_HINT || cmd == F_GET_FILE_RW_HINT;
}

FM_SLOW int fcntl_slow(int fd, int cmd, void *arg, size_t size)
{
	const bool out = fcntl_fills(cmd);
	struct fm_object b;
	int r;

	arg = fm_object(&b, arg, size, out ? BOTH : IN);
	r = FM_PASS(fcntl, SYS_fcntl, fd, cmd, arg);
	if (!fm_object_end(&b, r >= 0 && out ? size : 0))
		return (int)fm_result(-EFAULT);
	return r;
}

static bool locks(int cmd)
{
	return cmd == F_SETLK || cmd == F_SETLKW || cmd == F_OFD_SETLK ||
	       cmd == F_OFD_SETLKW;
}

/* Around a lock: who takes one sees what was written under it before, who gives
 * one up has written what the next one will read. */
static void hear_and_tell(int fd)
{
	fm_peers_acquire();
	fm_ipc_before();
	if (fm_looks())
		fm_tell_locked(fd);
}

FM_HOOK int fcntl(int fd, int cmd, ...)
{
	va_list ap;
	size_t size;
	void *arg;
	int r;

	va_start(ap, cmd);
	arg = va_arg(ap, void *);
	va_end(ap);
	if (locks(cmd))
		hear_and_tell(fd);
	if (fm_looks() && (size = fcntl_size(cmd)) && fm_data_in(arg, size))
		r = fcntl_slow(fd, cmd, arg, size);
	else
		r = FM_PASS(fcntl, SYS_fcntl, fd, cmd, arg);
	if (!r && locks(cmd))
		fm_peers_acquire();
	return r;
}

FM_HOOK int flock(int fd, int operation)
{
	hear_and_tell(fd);
	return (int)fm_ipc_after(FM_PASS(flock, SYS_flock, fd, operation));
}

FM_HOOK int lockf(int fd, int cmd, off_t len)
{
	hear_and_tell(fd);
	return (int)fm_ipc_after(FM_LATE(lockf)(fd, cmd, len));
}
FM_ALIAS(lockf) int lockf64(int fd, int cmd, off64_t len);

FM_ALIAS(fcntl) int fcntl64(int fd, int cmd, ...);
int __fcntl(int fd, int cmd, ...);
FM_ALIAS(fcntl) int __fcntl(int fd, int cmd, ...);
