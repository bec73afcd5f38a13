/* SPDX-License-Identifier: MIT */
/* not engaged: nothing is mapped */
/* While nothing is mapped a call is the system calls that it is without us: a
 * traced child makes each, and its tracer counts. A program that has confined
 * itself dies of one more. */
#include "ct.h"
#include "traced.h"

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <sys/sendfile.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define MARK 9999 /* no such system call */

static int file, ends[2], pair[2];
static char buf[64];
static struct iovec iov = { buf, 8 };
static struct msghdr msg = { .msg_iov = &iov, .msg_iovlen = 1 };
static struct sigaction act;
static sigset_t set;
static struct stat st;
static struct pollfd fds;
static char *page;
static const struct timespec now;
static char *none[] = { NULL };

static int map_page(void)
{
	page = mmap(NULL, PAGE, RW, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	return page == MAP_FAILED;
}

#define CALLS(X)                                                           \
	X(write(file, buf, 8)) X(read(file, buf, 8)) \
	X(pwrite(file, buf, 8, 0)) \
	X(pread(file, buf, 8, 0)) X(writev(file, &iov, 1)) \
	X(readv(file, &iov, 1)) X(preadv(file, &iov, 1, 0)) \
	X(pwritev2(file, &iov, 1, 0, 0)) X(pipe(ends)) \
	X(socketpair(AF_UNIX, SOCK_STREAM, 0, pair)) \
	X(sendmsg(pair[0], &msg, 0)) X(recvmsg(pair[1], &msg, 0)) \
	X(send(pair[0], buf, 1, 0)) X(recv(pair[1], buf, 1, 0)) \
	X(sendfile(ends[1], file, NULL, 1)) X(fstat(file, &st)) \
	X(stat("file", &st)) X(lseek(file, 0, SEEK_SET)) \
	X(ftruncate(file, 100)) X(truncate("file", 99)) \
	X(fallocate(file, 0, 0, 100)) X(fsync(file)) X(fdatasync(file)) \
	X(poll(&fds, 1, 0)) X(ppoll(&fds, 1, &now, &set)) \
	X(sigprocmask(SIG_BLOCK, &set, NULL)) \
	X(sigprocmask(SIG_SETMASK, NULL, &set)) X(sigpending(&set)) \
	X(sigaction(SIGUSR2, &act, NULL)) X(kill(getpid(), 0)) \
	X(sigtimedwait(&set, NULL, &now)) \
	X(map_page()) \
	X(mprotect(page, PAGE, PROT_READ)) X(madvise(page, PAGE, MADV_RANDOM)) \
	X(munmap(page, PAGE)) X(dup2(file, 50)) X(close(50)) \
	X(close_range(60, 70, 0)) X(open("file", O_RDWR | O_TRUNC)) \
	X(open("new", O_RDWR | O_CREAT, 0600)) X(rename("new", "newer")) \
	X(unlink("newer")) X(fcntl(file, F_GETFL)) \
	X(waitpid(-1, NULL, WNOHANG)) X(execve("/nothing", none, none)) \
	X(syscall(SYS_pread64, file, buf, 8, 0)) \
	X(syscall(SYS_writev, file, &iov, 1)) \
	X(syscall(SYS_getrandom, buf, 8, 0))

#define NAME(call) #call,
static const char *const names[] = { CALLS(NAME) "_exit(0)" };
#define COUNT (sizeof(names) / sizeof(*names))

static void mark(long n)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"((long)MARK), "D"(n)
			 : "rcx", "r11", "memory");
}

/* Functions that libc finds at the first call are found before. */
static void child(bool marks)
{
	long n = 0;

	/* In a child of fork the first asks who we are. */
	waitpid(-1, NULL, WNOHANG);

#define MAKE(call) \
	if (marks) \
		mark(n++); \
	(void)((call) + 0);
	CALLS(MAKE)
	if (!marks)
		return;
	mark(n);
	_exit(0);
}

static char seen[COUNT][512];

static void entered(const struct user_regs_struct *regs)
{
	static int at = -1;

	if (regs->orig_rax == MARK)
		at = (int)regs->rdi;
	else if (at >= 0)
		sprintf(seen[at] + strlen(seen[at]), " %d",
			(int)regs->orig_rax);
}

static void trace(int pid)
{
	ct_trace(pid, entered);
	for (size_t i = 0; i < COUNT; i++)
		say("C78 %s:%s", names[i], seen[i]);
}

int main(int argc, char **argv)
{
	int pid;

	ct_begin(argc, argv);
	if (chdir(ct_dir))
		ct_die("chdir");
	file = ct_file("file", 4096);
	act.sa_handler = SIG_IGN;
	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	child(false);
	fflush(stdout);
	pid = fork();
	if (!pid) {
		if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
			_exit(1);
		raise(SIGSTOP);
		child(true);
	}
	trace(pid);
	return 0;
}
