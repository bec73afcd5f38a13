/* SPDX-License-Identifier: MIT */
/* not engaged: nothing is mapped that the engine would serve */
/* U14: mmap and munmap of a page of a file that is too short for us, over and
 * over, while we serve nothing, is those two system calls: a tracer counts
 * those of a child. */
/* env: FASTMAP_MIN_SIZE=1M */
#include "ct.h"
#include "traced.h"

#include <sys/syscall.h>

#define PAIRS 1000
#define MARK 9999 /* no such system call */

static int fd;

static void mark(void)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"((long)MARK)
			 : "rcx", "r11", "memory");
}

static void pairs(int n, int prot, int type)
{
	for (int i = 0; i < n; i++)
		munmap(mmap(NULL, PAGE, prot, type, fd, i % 4 * (off_t)PAGE),
		       PAGE);
}

static void child(void)
{
	static const int kinds[][2] = {
		{ PROT_READ, MAP_SHARED },
		{ RW, MAP_SHARED },
		{ RW, MAP_PRIVATE },
	};

	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(1);
	raise(SIGSTOP);
	for (int k = 0; k < 3; k++) {
		pairs(2, kinds[k][0], kinds[k][1]);
		mark();
		pairs(PAIRS, kinds[k][0], kinds[k][1]);
		mark();
	}
	_exit(0);
}

/* Some look at the file, now and then, is allowed. */
static void report(long calls)
{
	say("U14 system calls of %d pairs: %s", PAIRS,
	    calls >= 2 * PAIRS && calls <= 2 * PAIRS + PAIRS / 20 ? "two each"
								  : "more");
	if (calls > 2 * PAIRS + PAIRS / 20)
		fprintf(stderr, "%ld\n", calls);
}

static void entered(const struct user_regs_struct *regs)
{
	static bool counts;
	static long calls;

	if ((long)regs->orig_rax != MARK) {
		calls++;
		return;
	}
	if (counts)
		report(calls);
	counts = !counts;
	calls = 0;
}

int main(int argc, char **argv)
{
	int pid;

	ct_begin(argc, argv);
	fd = ct_file("pair_calls", 4 * PAGE);
	pid = fork();
	if (!pid)
		child();
	ct_trace(pid, entered);
	return 0;
}
