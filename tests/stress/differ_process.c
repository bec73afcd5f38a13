/* SPDX-License-Identifier: MIT */
/* differ_process.c - children of a worker of differ, and who serves it. */
#include "ask.h"
#include "differ_worker.h"

#include <signal.h>
#include <spawn.h>
#include <sys/uio.h>
#include <sys/wait.h>

static void child_stores(void)
{
	struct slot *s = some(arg[0]);

	for (long p = 0; s && p < s->n; p += 1 + (long)(arg[1] % 7))
		if (looked_at(s, p) && (s->prot[p] & PROT_WRITE) &&
		    s->at[p] != UNKNOWN && before_end(s, p) == PAGE &&
		    s->at[p] < end_page) {
			fill(heap, 64, arg[2] + (uint64_t)p);
			guarded(store, s->addr + p * PAGE + 128, 64);
		}
}

static _Noreturn void child(int to)
{
	if (arg[3] % 2)
		child_stores();
	if (arg[4] % 4 == 0) {
		pid_t pid = fork();

		if (!pid) {
			child_stores();
			_exit(3);
		}
		waitpid(pid, NULL, 0);
	}
	out_n = 0;
	op_check();
	if (write(to, out, out_n) != (ssize_t)out_n)
		_exit(4);
	if (arg[5] % 4 == 0)
		kill(getpid(), SIGKILL);
	if (arg[5] % 4 == 1)
		execl("/bin/true", "true", NULL);
	_exit(0);
}

void op_fork(void)
{
	int p[2], status;
	ssize_t n;
	pid_t pid;

	note_end();
	if (pipe2(p, O_CLOEXEC))
		return;
	pid = fork();
	if (!pid)
		child(p[1]);
	close(p[1]);
	while ((n = read(p[0], out + out_n, LINE - 200 - out_n)) > 0)
		out_n += (size_t)n;
	close(p[0]);
	waitpid(pid, &status, 0);
	say("child %#x ", status);
}

void op_spawn(void)
{
	static char name[] = "true";
	char *argv[] = { name, NULL }, *none[] = { NULL };
	int status = -1;
	pid_t pid;

	if (arg[0] % 2) {
		pid = vfork();
		if (!pid) {
			execve("/bin/true", argv, none);
			_exit(9);
		}
	} else if (posix_spawn(&pid, "/bin/true", NULL, NULL, argv, none)) {
		return;
	}
	waitpid(pid, &status, 0);
	say("spawned %#x ", status);
}

void op_vm(void)
{
	struct slot *s = some(arg[0]);
	struct iovec l = { heap, 0 }, r;
	long first, n;
	ssize_t got;

	note_end();
	if (!range(s, arg[1], arg[2], &first, &n))
		return;
	for (long p = first; p < first + n; p++)
		if (s->at[p] == UNKNOWN || s->at[p] >= end_page ||
		    s->prot[p] != (PROT_READ | PROT_WRITE))
			return;
	r = (struct iovec){ s->addr + first * PAGE, (size_t)(n * PAGE) };
	l.iov_len = r.iov_len;
	got = process_vm_readv(getpid(), &l, 1, &r, 1, 0);
	result("process_vm_readv", got);
	if (got > 0)
		say_hash(heap, (size_t)got);
}

/* Not said: natively there is nobody to ask. */
void op_ask(void)
{
	char line[64];

	snprintf(line, sizeof(line), "%s\n", arg[0] % 3 ? "promote" : "demote");
	ask(line);
	if (arg[0] % 3 && arg[1] % 2)
		usleep(120000);
}

void op_pause(void)
{
	usleep((unsigned)(arg[0] % 20000));
}
