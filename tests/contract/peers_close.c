/* SPDX-License-Identifier: MIT */
/*
 * C66: to close is to send word. Another process waits for a lock that we have,
 * or for the end of what we send; we store through a mapping and close; then it
 * opens the file and reads. And a program that is executed in a child of clone,
 * as in one of vfork, reads what was stored before.
 */
#include "peers.h"

#include <sched.h>
#include <sys/file.h>
#include <sys/wait.h>

#define PAGES 16
#define ROUNDS 24
#define END 60   /* descriptor of the other process */

static const char *self;

static int byte_at(const char *path, long off)
{
	unsigned char c = 0;
	int fd = open(path, O_RDONLY);

	if (fd < 0 || pread(fd, &c, 1, off) != 1)
		_exit(255);
	close(fd);
	return c;
}

/* FILE OFFSET LOCK: waits, and ends with what is at the offset. LOCK is "-" to
 * wait for the end of END, "." not to wait. */
static void waiter_role(int argc, char **argv)
{
	char c;
	int fd;

	if (argc < 6 || strcmp(argv[2], "waiter"))
		return;
	if (argv[5][0] == '/') {
		fd = open(argv[5], O_RDWR);
		if (fd < 0 || write(END, "r", 1) != 1 || flock(fd, LOCK_EX))
			_exit(254);
	} else if (argv[5][0] == '-') {
		if (write(END, "r", 1) != 1 || read(END, &c, 1) != 0)
			_exit(253);
	}
	_exit(byte_at(argv[3], atol(argv[4])));
}

/* How a waiter ended that has not seen what it should, for who has to find out
 * why. */
static int is_old(const char *what, int round, int status, int want)
{
	if (WIFEXITED(status) && WEXITSTATUS(status) == want)
		return 0;
	fprintf(stderr, "%s, round %d: status %#x, not %#x\n", what, round,
		status, want << 8);
	return 1;
}

static pid_t start(const char *path, long off, const char *lock, bool native,
		   int *ret_end)
{
	char text[24];
	char *argv[] = { (char *)self, ct_dir, "waiter", (char *)path, text,
			 (char *)lock, NULL };
	pid_t pid;
	int s[2];
	char c;

	snprintf(text, sizeof(text), "%ld", off);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s))
		ct_die("socketpair");
	pid = peer_spawn(argv, s[1], END, native);
	if (read(s[0], &c, 1) != 1)
		ct_die("no waiter");
	usleep(3000); /* it waits now */
	*ret_end = s[0];
	return pid;
}

static void finish(int how, int lock, int end)
{
	if (how == 0)
		close(lock);
	else if (how == 1)
		dup2(STDERR_FILENO, lock);
	else if (how == 2)
		close_range((unsigned)lock, (unsigned)lock, 0);
	else if (how == 3)
		shutdown(end, SHUT_WR);
}

static int one(int round)
{
	const int how = round % 4;
	const long off = round % PAGES * (long)PAGE + 9;
	int fd = peer_file("f", PAGES * PAGE), lock, end, status;
	const char *path = strdup(ct_path("f")), *name = strdup(ct_path("l"));
	volatile char *m = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	pid_t pid;

	close(fd);
	m[off] = 1;
	lock = open(name, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
	if (lock < 0 || flock(lock, LOCK_EX))
		ct_die("lock");
	pid = start(path, off, how == 3 ? "-" : name, round / 4 % 2, &end);
	m[off] = (char)('A' + round);
	finish(how, lock, end);
	waitpid(pid, &status, 0);
	if (how == 1 || how == 3)
		close(lock);
	close(end);
	munmap((void *)m, PAGES * PAGE);
	return is_old("closed", round, status, 'A' + round);
}

static int run_it(void *arg)
{
	char **argv = arg;
	char *none[] = { NULL };

	execve(self, argv, none);
	_exit(252);
}

static int cloned(int round)
{
	static char stack[65536] __attribute__((aligned(16)));
	const long off = round % PAGES * (long)PAGE + 9;
	int fd = peer_file("g", PAGES * PAGE), status;
	const char *path = strdup(ct_path("g"));
	volatile char *m = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	char text[24];
	char *argv[] = { (char *)self, ct_dir, "waiter", (char *)path, text,
			 ".", NULL };
	pid_t pid;

	close(fd);
	snprintf(text, sizeof(text), "%ld", off);
	m[off] = (char)('a' + round);
	pid = clone(run_it, stack + sizeof(stack),
		    CLONE_VM | CLONE_VFORK | SIGCHLD, argv);
	if (pid < 0)
		ct_die("clone");
	waitpid(pid, &status, 0);
	munmap((void *)m, PAGES * PAGE);
	return is_old("cloned", round, status, 'a' + round);
}

int main(int argc, char **argv)
{
	int old = 0;

	ct_begin(argc, argv);
	waiter_role(argc, argv);
	self = argv[0];
	for (int r = 0; r < ROUNDS; r++)
		old += one(r);
	say("C66 closed: old %d", old);
	old = 0;
	for (int r = 0; r < ROUNDS; r++)
		old += cloned(r);
	say("C66 cloned: old %d", old);
	return 0;
}
