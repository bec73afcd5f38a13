/* SPDX-License-Identifier: MIT */
/* not engaged: nothing is mapped */
/* X35: a child of fork that does nothing but _exit touches as much memory as
 * one that ends by an instruction, and little more: what is behind our _exit is
 * found in the parent, not in the tables of libc by each child. */
#include "ct.h"

#include <sys/resource.h>
#include <sys/syscall.h>

#define FORKS 50
#define MORE 3 /* pages of code: the hook, libc's */

static void (*volatile leave)(int) = _exit;

static void end_by_instruction(int status)
{
	long ret;

	__asm__ volatile("syscall" : "=a"(ret)
			 : "a"((long)SYS_exit_group), "D"((long)status)
			 : "rcx", "r11", "memory");
}

/* The least that one of them took. */
static long pages(void (*end)(int))
{
	long least = -1;

	for (int i = 0; i < FORKS; i++) {
		struct rusage ru;
		int status;
		pid_t pid = fork();

		if (!pid)
			end(0);
		if (wait4(pid, &status, 0, &ru) != pid)
			ct_die("wait4");
		if (least < 0 || ru.ru_minflt < least)
			least = ru.ru_minflt;
	}
	return least;
}

int main(int argc, char **argv)
{
	long plain, ours;

	ct_begin(argc, argv);
	plain = pages(end_by_instruction);
	ours = pages(leave);
	say("X35 pages that _exit touches in a child: %s",
	    ours <= plain + MORE ? "few" : "more");
	if (ours > plain + MORE)
		fprintf(stderr, "%ld, %ld\n", ours, plain);
	return 0;
}
