/* SPDX-License-Identifier: MIT */
/* io_chk.c - what a program that was built with _FORTIFY_SOURCE calls: libc
 * knows the size of the buffer, and ends the program if more may be stored. */
#include "shim.h"

#include <poll.h>
#include <stdio.h>
#include <sys/socket.h>

extern void __chk_fail(void) __attribute__((noreturn));

#define CHK(type, fn, params, beyond, call) \
	type fn params;                     \
	FM_HOOK type fn params              \
	{                                   \
		if (beyond)                 \
			__chk_fail();       \
		return call;                \
	}

static bool beyond_room(size_t room, size_t size, size_t n)
{
	size_t bytes;

	return __builtin_mul_overflow(size, n, &bytes) || bytes > room;
}

/* clang-format off */
CHK(ssize_t, __read_chk, (int fd, void *buf, size_t n, size_t room),
	n > room, read(fd, buf, n))
CHK(ssize_t, __pread_chk, (int fd, void *buf, size_t n, off_t off, size_t room),
	n > room, pread(fd, buf, n, off))
FM_DO_ALIAS(__pread_chk, __pread64_chk)
CHK(ssize_t, __recv_chk, (int fd, void *buf, size_t n, size_t room, int flags),
	n > room, recv(fd, buf, n, flags))
CHK(ssize_t, __recvfrom_chk, (int fd, void *buf, size_t n, size_t room,
	int flags, __SOCKADDR_ARG addr, socklen_t *len),
	n > room, recvfrom(fd, buf, n, flags, addr, len))
CHK(ssize_t, __readlink_chk, (const char *path, char *buf, size_t n,
	size_t room), n > room, readlink(path, buf, n))
CHK(ssize_t, __readlinkat_chk, (int dir, const char *path, char *buf, size_t n,
	size_t room), n > room, readlinkat(dir, path, buf, n))
CHK(char *, __getcwd_chk, (char *buf, size_t n, size_t room),
	n > room, getcwd(buf, n))
CHK(int, __getgroups_chk, (int n, gid_t *list, size_t room),
	n > 0 && room / sizeof(*list) < (size_t)n, getgroups(n, list))
CHK(int, __poll_chk, (struct pollfd *fds, nfds_t n, int timeout, size_t room),
	room / sizeof(*fds) < n, poll(fds, n, timeout))
CHK(int, __ppoll_chk, (struct pollfd *fds, nfds_t n,
	const struct timespec *timeout, const sigset_t *mask, size_t room),
	room / sizeof(*fds) < n, ppoll(fds, n, timeout, mask))
CHK(size_t, __fread_chk, (void *buf, size_t room, size_t size, size_t n,
	FILE *fp), beyond_room(room, size, n), fread(buf, size, n, fp))
CHK(size_t, __fread_unlocked_chk, (void *buf, size_t room, size_t size,
	size_t n, FILE *fp), beyond_room(room, size, n),
	fread_unlocked(buf, size, n, fp))
CHK(char *, __fgets_chk, (char *buf, size_t room, int n, FILE *fp),
	n > 0 && (size_t)n > room, fgets(buf, n, fp))
CHK(char *, __fgets_unlocked_chk, (char *buf, size_t room, int n, FILE *fp),
	n > 0 && (size_t)n > room, fgets_unlocked(buf, n, fp))
/* clang-format on */
