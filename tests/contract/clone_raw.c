/* SPDX-License-Identifier: MIT */
/* K45: a process that clone or clone3, by their numbers, put into the program's
 * memory ends there, or executes another program, which reads what the program
 * had stored. The program goes on. */
#include "ct.h"

#include <linux/sched.h>
#include <sched.h>
#include <sys/syscall.h>

#define N (64 * PAGE)
#define FLAGS (CLONE_VM | CLONE_VFORK)

static long stack[16384] __attribute__((aligned(64)));
static char *self;
static const char *path;

static void ends(void)
{
	_exit(3);
}

static void executes(void)
{
	char *argv[] = { self, ct_dir, "reader", (char *)path, NULL };
	char *none[] = { NULL };

	execve(self, argv, none);
	_exit(9);
}

/* The child returns from syscall() into fn. */
static void run(const char *what, bool three, void (*fn)(void))
{
	long *top = &stack[16384 - 10];
	struct clone_args a = { .flags = FLAGS, .exit_signal = SIGCHLD,
				.stack = (uintptr_t)stack };
	int status = 0;
	long pid;

	a.stack_size = (uintptr_t)top - (uintptr_t)stack;
	*top = (long)fn;
	pid = three ? syscall(SYS_clone3, &a, sizeof(a)) :
		      syscall(SYS_clone, FLAGS | SIGCHLD, top, 0, 0, 0);
	if (pid < 0)
		ct_die(what);
	waitpid((pid_t)pid, &status, 0);
	say("K45 %s: %d", what, WIFEXITED(status) ? WEXITSTATUS(status) : -1);
}

static void reader_role(int argc, char **argv)
{
	if (argc > 3 && !strcmp(argv[2], "reader"))
		_exit(ct_in_file(open(argv[3], O_RDONLY), 3 * PAGE) & 0x7f);
}

int main(int argc, char **argv)
{
	char *p, *q;
	int fd;

	ct_begin(argc, argv);
	reader_role(argc, argv);
	self = argv[0];
	path = ct_path("f");
	p = ct_map(ct_file("first", N), N, RW, MAP_SHARED, 0);
	run("clone3, ends", true, ends);
	run("clone, ends", false, ends);
	p[PAGE] = 1;
	fd = ct_file("f", N);
	q = ct_map(fd, N, RW, MAP_SHARED, 0);
	q[3 * PAGE] = 'A';
	run("clone3, executes", true, executes);
	q[3 * PAGE] = 'B';
	run("clone, executes", false, executes);
	q[3 * PAGE] = 'C';
	say_load("K45 goes on", q, 9 * PAGE);
	say_load("K45 goes on", p, 9 * PAGE);
	return 0;
}
