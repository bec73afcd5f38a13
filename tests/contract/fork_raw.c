/* SPDX-License-Identifier: MIT */
/* C39: children made otherwise than by fork. */
/* env: FASTMAP_SOCKET=%p.sock */
#include "ct.h"

#include <linux/sched.h>
#include <sched.h>
#include <spawn.h>
#include <sys/syscall.h>

#define N (16 * PAGE)

extern pid_t _Fork(void) __attribute__((weak));

static char *s, *p, *stack;
static int fd[2];

static void fresh(void)
{
	if (s) {
		munmap(s, N);
		munmap(p, N);
		close(fd[0]);
		close(fd[1]);
		unlink(ct_path("s"));
		unlink(ct_path("p"));
	}
	fd[0] = ct_file("s", N);
	fd[1] = ct_file("p", N);
	s = ct_map(fd[0], N, RW, MAP_SHARED, 0);
	p = ct_map(fd[1], N, RW, MAP_PRIVATE, 0);
	for (size_t i = 0; i < N; i += PAGE) {
		s[i] = 's';
		if (i % (2 * PAGE))
			p[i] = 'p';
	}
}

/* Exit status: bytes that are wrong. */
static int child(void *arg CT_UNUSED)
{
	int bad = 0;

	for (size_t i = 0; i < N; i += PAGE) {
		bad += s[i] != 's' || !ct_matches(s + i + 1, 99, i + 1);
		bad += i % (2 * PAGE) ? p[i] != 'p' : !ct_matches(p + i, 99, i);
	}
	s[5] = 'c';
	p[5] = 'c';
	bad += pwrite(fd[0], "w", 1, 6) != 1 || s[6] != 'w';
	return bad;
}

static void report(const char *what, pid_t pid)
{
	int status;

	if (pid < 0)
		ct_die(what);
	if (waitpid(pid, &status, __WALL) != pid)
		ct_die("waitpid");
	say("C39 %s: %s %d, the parent sees %c%c %d", what,
	    WIFSIGNALED(status) ? "signal" : "exit",
	    WIFSIGNALED(status) ? WTERMSIG(status) : WEXITSTATUS(status),
	    s[5] == 'c' ? 'c' : '-', s[6] == 'w' ? 'w' : '-', p[5] == 'c');
}

static void by_clone(const char *what, int flags)
{
	fresh();
	report(what, clone(child, stack, flags | SIGCHLD, NULL));
}

static void by_number(const char *what, long nr, long a, long b)
{
	pid_t pid;

	fresh();
	pid = (pid_t)syscall(nr, a, b, 0, 0, 0);
	if (pid == 0)
		_exit(child(NULL));
	report(what, pid);
}

static void spawned(void)
{
	char *argv[] = { "cmp", "-s", "s", "copy", NULL };
	int status, copy;
	pid_t pid;

	fresh();
	copy = ct_file("copy", 0);
	ct_pwrite(copy, s, N, 0);
	s[77] ^= 1;
	s[77] ^= 1;
	if (posix_spawnp(&pid, "cmp", NULL, NULL, argv, NULL))
		ct_die("posix_spawnp");
	waitpid(pid, &status, 0);
	say("C39 posix_spawn: %d", status);
	say("C39 system: %d", system("cmp -s s copy"));
	pid = vfork();
	if (pid == 0) {
		execvp("cmp", argv);
		_exit(127);
	}
	waitpid(pid, &status, 0);
	say("C39 vfork, exec: %d", status);
	close(copy);
}

int main(int argc, char **argv)
{
	struct clone_args a = { .exit_signal = SIGCHLD };
	pid_t pid;

	ct_begin(argc, argv);
	stack = (char *)malloc(1 << 18) + (1 << 18);
	fresh();
	pid = _Fork ? _Fork() : fork();
	if (pid == 0)
		_exit(child(NULL));
	report("_Fork", pid);
	by_clone("clone", 0);
	by_clone("clone, shared memory", CLONE_VM);
	by_clone("clone, as vfork", CLONE_VM | CLONE_VFORK);
	by_number("SYS_fork", SYS_fork, 0, 0);
	by_number("SYS_clone", SYS_clone, SIGCHLD, 0);
	by_number("SYS_clone3", SYS_clone3, (long)&a, sizeof(a));
	say_rc("C39 SYS_clone3 of nonsense",
	       syscall(SYS_clone3, 8L, sizeof(a)));
	spawned();
	return 0;
}
