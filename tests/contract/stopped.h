/* SPDX-License-Identifier: MIT */
/*
 * stopped.h - a thread of the library stands still for a while, as on a machine
 * that is busy: another process traces it. Natively there is none, and nothing
 * happens.
 */
#ifndef STOPPED_H
#define STOPPED_H

#include "ct.h"

#include <dirent.h>
#include <sys/prctl.h>
#include <sys/ptrace.h>
#include <sys/socket.h>

static int stopper = -1; /* socket to the process that traces */

struct stop {
	pid_t tid;
	int ms;
};

static void stop_one(const struct stop *s)
{
	char done = 1;
	bool is = !ptrace(PTRACE_SEIZE, s->tid, NULL, NULL) &&
		  !ptrace(PTRACE_INTERRUPT, s->tid, NULL, NULL) &&
		  waitpid(s->tid, NULL, __WALL) == s->tid;

	if (!is)
		perror("ptrace");
	if (write(stopper, &done, 1) != 1)
		_exit(1);
	usleep((useconds_t)s->ms * 1000);
	if (is)
		ptrace(PTRACE_DETACH, s->tid, NULL, NULL);
}

/* Before anything is mapped. */
CT_UNUSED static void stopper_start(void)
{
	struct stop s;
	int end[2];
	pid_t pid;

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, end))
		ct_die("socketpair");
	pid = fork();
	stopper = end[!pid];
	close(end[!!pid]);
	if (pid) {
		/* Where Yama asks for it. */
		prctl(PR_SET_PTRACER, pid, 0, 0, 0);
		return;
	}
	while (read(stopper, &s, sizeof(s)) == sizeof(s))
		stop_one(&s);
	_exit(0);
}

static pid_t thread_named(const char *name)
{
	DIR *d = opendir("/proc/self/task");
	struct dirent *e;
	pid_t found = 0;

	while (d && !found && (e = readdir(d))) {
		char path[64], comm[32] = "";
		FILE *f;

		snprintf(path, sizeof(path), "/proc/self/task/%.20s/comm",
			 e->d_name);
		f = fopen(path, "re");
		if (f && fscanf(f, "%31s", comm) == 1 &&
		    !strcmp(comm, name))
			found = atoi(e->d_name);
		if (f)
			fclose(f);
	}
	if (d)
		closedir(d);
	return found;
}

/* It stands still when this returns, and goes on so many ms later. */
CT_UNUSED static void stop_thread(const char *name, int ms)
{
	struct stop s = { thread_named(name), ms };
	char done;

	if (s.tid && (write(stopper, &s, sizeof(s)) != sizeof(s) ||
		      read(stopper, &done, 1) != 1))
		ct_die("stopper");
}

#endif
