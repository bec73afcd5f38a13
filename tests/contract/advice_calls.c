/* SPDX-License-Identifier: MIT */
/* not engaged: the mapping has been handed to the kernel */
/* U21: advice on a mapping that the kernel serves, msync and munmap of it, over
 * and over: what lasts is said with signals blocked once, anything else is the
 * one system call. A tracer counts those of a child. */
#include "ct.h"
#include "traced.h"

#include <sys/syscall.h>

#define PAGES 1024
#define TIMES 500
#define MARK 9999 /* no such system call */

#define MSYNC -1
#define MUNMAP -2

static const struct kind {
	int advice;
	const char *name;
	bool lasts;
} kinds[] = {
	{ MADV_DONTNEED, "DONTNEED", false },
	{ MADV_WILLNEED, "WILLNEED", false },
	{ 99, "none", false },
	{ MSYNC, "msync", false },
	{ MADV_NORMAL, "NORMAL", true },
	{ MADV_RANDOM, "RANDOM", true },
	{ MADV_DONTDUMP, "DONTDUMP", true },
	{ MUNMAP, "munmap", true }, /* the last */
};

#define KINDS (sizeof(kinds) / sizeof(*kinds))

static int fd;

static void mark(void)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret) : "a"((long)MARK)
			 : "rcx", "r11", "memory");
}

static void advise(char *p, int advice, int n)
{
	for (int i = 0; i < n; i++)
		if (advice == MSYNC)
			msync(p + i % PAGES * PAGE, PAGE, MS_ASYNC);
		else if (advice == MUNMAP)
			munmap(p + i % PAGES * PAGE, PAGE);
		else
			madvise(p + i % PAGES * PAGE, PAGE, advice);
}

static void child(void)
{
	char *p = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);

	p[0] = 1;
	/* The kernel's from here on. */
	madvise(p, PAGES * PAGE, MADV_DONTFORK);
	if (ptrace(PTRACE_TRACEME, 0, NULL, NULL))
		_exit(1);
	raise(SIGSTOP);
	for (size_t k = 0; k < KINDS; k++) {
		advise(p, kinds[k].advice, 2);
		mark();
		advise(p, kinds[k].advice, TIMES);
		mark();
	}
	_exit(0);
}

static void report(const struct kind *k, long calls)
{
	const long most = (k->lasts ? 3 : 1) * TIMES + TIMES / 20;

	say("U21 %s %d times: %s", k->name, TIMES,
	    calls <= most ? "few" : "more");
	if (calls > most)
		fprintf(stderr, "%ld\n", calls);
}

static void entered(const struct user_regs_struct *regs)
{
	static bool counts;
	static long calls, k;

	if ((long)regs->orig_rax != MARK) {
		calls++;
		return;
	}
	if (counts)
		report(&kinds[k++], calls);
	counts = !counts;
	calls = 0;
}

int main(int argc, char **argv)
{
	int pid;

	ct_begin(argc, argv);
	fd = ct_file("advice_calls", PAGES * PAGE);
	pid = fork();
	if (!pid)
		child();
	ct_trace(pid, entered);
	return 0;
}
