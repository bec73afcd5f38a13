/* SPDX-License-Identifier: MIT */
/* U16: who maps a window of a file again and again is not asked who it is each
 * time, and whoever else runs in its memory, or in a copy of it, still reads
 * the file. */
#include "ct.h"

#include <signal.h>
#include <sys/ptrace.h>
#include <sys/syscall.h>
#include <sys/user.h>

#define PAGES 512
#define PAIRS 300

static int fd;

static char at_page(int n)
{
	char *p = mmap(NULL, PAGE, PROT_READ, MAP_SHARED, fd, n * PAGE);
	char c = p == MAP_FAILED ? '!' : *p;

	munmap(p, PAGE);
	return c;
}

/* As the file is: page n holds 'a' + n % 26. */
static bool all_right(int pairs)
{
	for (int n = 0; n < pairs; n++)
		if (at_page(n % PAGES) != 'a' + n % PAGES % 26)
			return false;
	return true;
}

static void traced(void)
{
	char *whole;

	fd = open("file", O_RDONLY);
	whole = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	if (whole == MAP_FAILED || ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(1);
	all_right(PAIRS); /* from here on nothing is found out any more */
	raise(SIGSTOP);
	_exit(!all_right(PAIRS));
}

static long count(int pid, long nr, int *ret_status)
{
	struct user_regs_struct regs;
	long n = 0;

	waitpid(pid, ret_status, 0);
	while (WIFSTOPPED(*ret_status)) {
		int sig = WSTOPSIG(*ret_status);

		if (sig == SIGTRAP && !ptrace(PTRACE_GETREGS, pid, NULL, &regs))
			n += (long)regs.orig_rax == nr;
		ptrace(PTRACE_SYSCALL, pid, NULL,
		       (long)(sig == SIGTRAP || sig == SIGSTOP ? 0 : sig));
		waitpid(pid, ret_status, 0);
	}
	return n;
}

/* By an instruction: no hook sees it. */
static int raw_fork(void)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"((long)SYS_fork)
			 : "rcx", "r11", "memory");
	return (int)ret;
}

static int status_of(int pid)
{
	int status = -1;

	waitpid(pid, &status, 0);
	return status;
}

int main(int argc, char **argv)
{
	char *whole;
	int pid, status;
	long n;

	ct_begin(argc, argv);
	if (chdir(ct_dir))
		ct_die("chdir");
	fd = ct_file("file", PAGES * PAGE);
	for (int i = 0; i < PAGES; i++) {
		const char c = (char)('a' + i % 26);

		if (pwrite(fd, &c, 1, i * PAGE) != 1)
			ct_die("pwrite");
	}
	close(fd); /* or the child would not be alone with it */
	pid = fork();
	if (!pid)
		traced();
	n = count(pid, SYS_getpid, &status);
	say("U16 asked who it is: %s, ended %d", n > PAIRS / 10 ? "yes" : "no",
	    status);

	fd = open("file", O_RDONLY);
	whole = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_SHARED, fd, 0);
	say("U16 itself %d", whole != MAP_FAILED && all_right(PAIRS));
	pid = vfork();
	if (!pid)
		_exit(!all_right(PAIRS));
	say("U16 child of vfork %d", status_of(pid));
	say("U16 itself %d", all_right(PAIRS));
	pid = raw_fork();
	if (!pid)
		syscall(SYS_exit_group, !all_right(PAIRS));
	say("U16 child of fork by an instruction %d", status_of(pid));
	say("U16 itself %d", all_right(PAIRS));
	return 0;
}
