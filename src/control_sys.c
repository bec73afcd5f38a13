/* SPDX-License-Identifier: MIT */
/*
 * control_sys.c - what the private libuv gets in place of libc (see
 * libuv.redirects): raw system calls, descriptors in the engine's high range,
 * and no way to end the program.
 */
#include <netinet/in.h>
#include <stdarg.h>
#include <stdio.h>
#include <sys/socket.h>

#include "control_priv.h"
#include "log.h"
#include "ring.h"
#include "sys.h"

/* Data that its parts refer to which we do not use (UDP, child processes,
 * printing of handles). */
extern const struct in6_addr fm_uv_in6addr_any;
const struct in6_addr fm_uv_in6addr_any = IN6ADDR_ANY_INIT;
extern char **fm_uv_environ;
char **fm_uv_environ;
extern FILE *fm_uv_stderr;
FILE *fm_uv_stderr;

/* So that a forked child can give them back. A loop needs few. */
#define MAX_FDS 64
static int fds[MAX_FDS];
static int nfds;

static int keep(long r)
{
	if (r < 0) {
		errno = (int)-r;
		return -1;
	}
	r = fm_fd_raise((int)r);
	if (r >= 0 && nfds < MAX_FDS)
		fds[nfds++] = (int)r;
	return (int)r;
}

static long result(long r)
{
	if ((unsigned long)r < (unsigned long)-4095)
		return r;
	errno = (int)-r;
	return -1;
}

void fm_control_drop_fds(void)
{
	while (nfds)
		fm_fd_drop(fds[--nfds]);
}

int fm_uv_epoll_create1(int flags);
int fm_uv_epoll_create1(int flags)
{
	return keep(fm_sys1(SYS_epoll_create1, flags));
}

int fm_uv_eventfd(unsigned count, int flags);
int fm_uv_eventfd(unsigned count, int flags)
{
	return keep(fm_sys2(SYS_eventfd2, count, flags));
}

int fm_uv_pipe2(int fd[2], int flags);
int fm_uv_pipe2(int fd[2], int flags)
{
	long r = fm_sys2(SYS_pipe2, fd, flags);

	if (r < 0)
		return (int)result(r);
	fd[0] = keep(fd[0]);
	fd[1] = keep(fd[1]);
	return 0;
}

int fm_uv_socket(int family, int type, int protocol);
int fm_uv_socket(int family, int type, int protocol)
{
	return keep(fm_sys3(SYS_socket, family, type, protocol));
}

int fm_uv_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags);
int fm_uv_accept4(int fd, struct sockaddr *addr, socklen_t *len, int flags)
{
	return keep(fm_sys4(SYS_accept4, fd, addr, len, flags));
}

int fm_uv_close(int fd);
int fm_uv_close(int fd)
{
	for (int i = 0; i < nfds; i++)
		if (fds[i] == fd)
			fds[i--] = fds[--nfds];
	fm_fd_forget(fd);
	return (int)result(fm_sys_close(fd));
}

/* libuv closes this way to have no cancellation point; the hook of syscall()
 * would protect our descriptors from ourselves. */
long fm_uv_syscall(long nr, ...);
long fm_uv_syscall(long nr, ...)
{
	long a[6];
	va_list ap;

	va_start(ap, nr);
	for (int i = 0; i < 6; i++)
		a[i] = va_arg(ap, long);
	va_end(ap);
	if (nr == SYS_close)
		return fm_uv_close((int)a[0]);
	if (nr == SYS_io_uring_setup) /* newer ones would open rings */
		return result(-ENOSYS);
	return result(fm_sys6(nr, a[0], a[1], a[2], a[3], a[4], a[5]));
}

void *fm_uv_mmap(void *addr, size_t len, int prot, int flags, int fd,
		 off_t off);
void *fm_uv_mmap(void *addr, size_t len, int prot, int flags, int fd,
		 off_t off)
{
	return (void *)result((long)fm_sys_mmap(addr, len, prot, flags, fd,
						off));
}

int fm_uv_munmap(void *addr, size_t len);
int fm_uv_munmap(void *addr, size_t len)
{
	return (int)result(fm_sys_munmap(addr, len));
}

ssize_t fm_uv_read(int fd, void *buf, size_t len);
ssize_t fm_uv_read(int fd, void *buf, size_t len)
{
	return result(fm_sys3(SYS_read, fd, buf, len));
}

ssize_t fm_uv_write(int fd, const void *buf, size_t len);
ssize_t fm_uv_write(int fd, const void *buf, size_t len)
{
	return result(fm_sys3(SYS_write, fd, buf, len));
}

/* A child starts with a new loop. */
int fm_uv_atfork(void (*a)(void), void (*b)(void), void (*c)(void));
int fm_uv_atfork(void (*a)(void), void (*b)(void), void (*c)(void))
{
	return 0;
}

/* Only the control thread gets here: let it sleep for good. */
_Noreturn void fm_uv_abort(void);
_Noreturn void fm_uv_abort(void)
{
	fm_log(FM_LOG_WARN, "the control loop has no descriptors; "
	       "no reload and no control socket any more");
	for (;;)
		fm_sys0(SYS_pause);
}

_Noreturn void fm_uv_assert_fail(void) __attribute__((alias("fm_uv_abort")));

#define NEVER(name) \
	_Noreturn void fm_uv_no_##name(void) \
		__attribute__((alias("fm_uv_abort")));
NEVER(epoll_create)
NEVER(fork)
NEVER(execvp)
NEVER(dlopen)
