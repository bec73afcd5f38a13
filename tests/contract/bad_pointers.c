/* SPDX-License-Identifier: MIT */
/* Pointers that the kernel cannot use are its EFAULT, not a signal in the
 * library: before anything is mapped, and then; by name and by number. */
#include "ct.h"

#include <fcntl.h>
#include <linux/fs.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <spawn.h>
#include <sys/epoll.h>
#include <sys/ioctl.h>
#include <sys/random.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <sys/xattr.h>
#include <utime.h>

#pragma GCC diagnostic ignored "-Wnonnull"
#ifndef __clang__
#pragma GCC diagnostic ignored "-Wstringop-overflow"
#pragma GCC diagnostic ignored "-Wstringop-overread"
#pragma GCC diagnostic ignored "-Wrestrict"
#pragma GCC diagnostic ignored "-Warray-bounds"
#endif

static sigjmp_buf jump;
static int file, other, ends[2], pair[2];
static char *map;
static const char *kind;

static void handler(int sig)
{
	siglongjmp(jump, sig);
}

#define T(call)                                                            \
	do {                                                               \
		int sig = sigsetjmp(jump, 1);                              \
		long r = -1;                                               \
                                                                           \
		errno = 0;                                                 \
		if (!sig)                                                  \
			r = (long)(call);                                  \
		say("C77 %s, %s: %ld %s signal %d", kind, #call, r,        \
		    r < 0 ? ct_errno(1) : "", sig);                        \
	} while (0)

static void moved(void *p)
{
	loff_t zero = 0;

	T(sendfile(other, file, p, 1));
	T(splice(file, p, ends[1], NULL, 1, 0));
	T(splice(ends[0], NULL, other, p, 1, SPLICE_F_NONBLOCK));
	T(copy_file_range(file, p, other, NULL, 1, 0));
	T(copy_file_range(file, &zero, other, p, 1, 0));
	T(syscall(SYS_sendfile, other, file, p, 1));
	T(syscall(SYS_copy_file_range, file, p, other, NULL, 1, 0));
	T(ioctl(file, FICLONERANGE, p));
	T(ioctl(file, FIDEDUPERANGE, p));
}

static void vectors(void *p)
{
	struct iovec here = { &here, sizeof(here) };

	T(readv(file, p, 2));
	T(writev(other, p, 2));
	T(writev(-1, p, 2));
	T(preadv(file, p, 2, 0));
	T(pwritev(other, p, 2, 0));
	T(preadv2(file, p, 2, 0, 0));
	T(pwritev2(other, p, 2, 0, 0));
	T(writev(other, p, 1000));
	T(vmsplice(ends[1], p, 2, 0));
	T(process_vm_readv(getpid(), p, 2, &here, 1, 0));
	T(process_vm_readv(getpid(), &here, 1, p, 2, 0));
	T(process_vm_writev(getpid(), p, 2, &here, 1, 0));
	T(syscall(SYS_readv, file, p, 2));
	T(syscall(SYS_pwritev, other, p, 2, 0, 0));
	T(read(file, p, 5000));
	T(pwrite(other, p, 5000, 0));
}

static void messages(void *p)
{
	struct iovec iov = { "x", 1 };
	struct msghdr vec = { .msg_iov = p, .msg_iovlen = 2 };
	struct msghdr control = { .msg_iov = &iov, .msg_iovlen = 1,
				  .msg_control = p, .msg_controllen = 64 };
	struct msghdr name = { .msg_iov = &iov, .msg_iovlen = 1,
			       .msg_name = p, .msg_namelen = 64 };
	struct timespec now = { 0, 0 };

	T(sendmsg(pair[0], p, 0));
	T(recvmsg(pair[0], p, MSG_DONTWAIT));
	T(sendmsg(pair[0], &vec, 0));
	T(sendmsg(pair[0], &control, 0));
	T(sendmsg(pair[0], &name, 0));
	T(recvmsg(pair[0], &vec, MSG_DONTWAIT));
	T(sendmmsg(pair[0], p, 2, 0));
	T(recvmmsg(pair[0], p, 2, MSG_DONTWAIT, NULL));
	T(recvmmsg(pair[0], p, 2, MSG_DONTWAIT, &now));
	T(syscall(SYS_sendmsg, pair[0], p, 0));
	T(syscall(SYS_sendmmsg, pair[0], p, 2, 0));
	T(send(pair[0], p, 5000, 0));
	T(recv(pair[0], p, 5000, MSG_DONTWAIT));
	T(recvfrom(pair[0], p, 5000, MSG_DONTWAIT, p, p));
	T(accept(pair[0], p, p));
	T(getsockname(pair[0], p, p));
	T(getsockopt(pair[0], SOL_SOCKET, SO_TYPE, p, p));
	T(setsockopt(pair[0], SOL_SOCKET, SO_SNDBUF, p, 4));
	T(bind(pair[0], p, 64));
	T(connect(pair[0], p, 64));
}

static void signals(void *p)
{
	struct timespec now = { 0, 0 };
	sigset_t usr;

	sigemptyset(&usr);
	sigaddset(&usr, SIGUSR1);
	T(sigaltstack(p, NULL));
	T(sigaltstack(NULL, p));
	T(syscall(SYS_sigaltstack, p, NULL));
	T(sigprocmask(SIG_BLOCK, NULL, p));
	T(sigpending(p));
	T(sigtimedwait(p, NULL, &now));
	T(sigtimedwait(&usr, NULL, p));
	T(nanosleep(p, NULL));
	T(getitimer(ITIMER_REAL, p));
	T(timerfd_settime(-1, 0, p, NULL));
}

static void waits(void *p)
{
	struct timeval now = { 0, 0 };

	T(poll(p, 2, 0));
	T(select(64, p, NULL, NULL, &now));
	T(epoll_wait(-1, p, 1, 0));
	T(epoll_ctl(-1, EPOLL_CTL_ADD, 0, p));
	T(waitpid(-1, p, WNOHANG));
	T(waitid(P_ALL, 0, p, WEXITED | WNOHANG));
	T(mincore(map ? map : p, 4096, p));
	T(process_madvise(-1, p, 2, 0, 0));
}

static void paths(void *p)
{
	char *const *argv = p;
	char *none[] = { NULL };

	T(open(p, O_RDONLY));
	T(open(p, O_RDWR | O_TRUNC));
	T(openat(AT_FDCWD, p, O_RDONLY));
	T(creat(p, 0600));
	T(syscall(SYS_openat2, AT_FDCWD, "/", p, 24));
	T(syscall(SYS_open, p, 0));
	T(truncate(p, 0));
	T(stat(p, p));
	T(fstat(file, p));
	T(statfs("/", p));
	T(rename(p, p));
	T(unlink(p));
	T(link(p, p));
	T(symlink(p, p));
	T(mkdir(p, 0));
	T(access(p, 0));
	T(readlink(p, p, 10));
	T(getcwd(p, 4000));
	T(utime(p, p));
	T(futimens(file, p));
	T(utimensat(AT_FDCWD, p, NULL, 0));
	T(getxattr("/", "user.x", p, 10));
	T(setxattr(p, "user.x", p, 10, 0));
	T(execve("/nothing", argv, none));
	T(execve("/nothing", none, p));
	T(execve(p, none, none));
}

static void small(void *p)
{
	T(pipe(p));
	T(socketpair(AF_UNIX, SOCK_STREAM, 0, p));
	T(fcntl(file, F_SETLK, p));
	T(fcntl(file, F_GETLK, p));
	T(fcntl(file, F_OFD_SETLK, p));
	T(getrandom(p, 5000, 0));
	T(getrlimit(RLIMIT_CORE, p));
	T(setrlimit(RLIMIT_FSIZE, p));
	T(prlimit(0, RLIMIT_FSIZE, p, NULL));
	T(syscall(SYS_prlimit64, 0, RLIMIT_FSIZE, p, NULL));
	T(getrusage(RUSAGE_SELF, p));
	T(ioctl(ends[0], FIONREAD, p));
}

static void all(const char *name, void *p)
{
	kind = name;
	moved(p);
	vectors(p);
	messages(p);
	signals(p);
	waits(p);
	paths(p);
	small(p);
}

static void each(char *none)
{
	all("no access", none);
	all("low", (void *)8);
	all("beyond the end", none - 4); /* begins in memory that is there */
	all("not an address", (void *)0x8000000000000000);
}

int main(int argc, char **argv)
{
	char *p;

	ct_begin(argc, argv);
	signal(SIGSEGV, handler);
	signal(SIGBUS, handler);
	signal(SIGPIPE, SIG_IGN);
	file = ct_file("file", 16 * 4096);
	other = open(ct_path("other"), O_RDWR | O_CREAT, 0600);
	p = mmap(NULL, 4 * 4096, PROT_READ | PROT_WRITE,
		 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (pipe(ends) || socketpair(AF_UNIX, SOCK_STREAM, 0, pair) ||
	    mprotect(p + 8192, 8192, PROT_NONE))
		ct_die("setup");
	each(p + 8192);
	map = ct_map(file, 16 * 4096, PROT_READ | PROT_WRITE, MAP_SHARED, 0);
	map[0] = 1;
	each(p + 8192);
	return 0;
}
