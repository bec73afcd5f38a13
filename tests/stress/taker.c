/* SPDX-License-Identifier: MIT */
/*
 * taker.c - runs a program (all of its session), and takes all memory of it
 * that can be had without losing anything (MADV_PAGEOUT from outside), over and
 * over: page cache that it maps, and what it has said MADV_FREE of. Nothing it
 * does may go wrong by that.
 *
 *   taker PROGRAM ARGUMENT...
 *
 * Ends as the program does. Without the privilege to advise another process, or
 * before Linux 5.10, it only runs it.
 */
#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21
#endif
#define LEAST 16384ul /* bytes; smaller mappings are left alone */
#define PIECES 256
#define LEAST_NS 500000l

static pid_t program;

static void pass_on(int sig)
{
	kill(program, sig);
}

static void take_from(pid_t pid)
{
	struct iovec v[PIECES];
	unsigned long start, end;
	char path[64], line[512], perms[8];
	int fd = (int)syscall(SYS_pidfd_open, pid, 0), n = 0;
	FILE *f;

	snprintf(path, sizeof(path), "/proc/%d/maps", (int)pid);
	f = fopen(path, "r");
	while (f && fd >= 0 && n < PIECES && fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx %7s", &start, &end, perms) == 3 &&
		    !strcmp(perms + 2, "-p") && end - start >= LEAST)
			v[n++] = (struct iovec){ (void *)start, end - start };
	/* One that refuses must not spare those behind it. */
	for (int k = 0; k < n; k++)
		syscall(SYS_process_madvise, fd, v + k, 1, MADV_PAGEOUT, 0);
	if (f)
		fclose(f);
	if (fd >= 0)
		close(fd);
}

static void take_from_all(pid_t session)
{
	DIR *d = opendir("/proc");
	struct dirent *e;

	while (d && (e = readdir(d)) != NULL)
		if (isdigit(e->d_name[0]) && atoi(e->d_name) != getpid() &&
		    getsid(atoi(e->d_name)) == session)
			take_from(atoi(e->d_name));
	if (d)
		closedir(d);
}

static long now_ns(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t.tv_sec * 1000000000l + t.tv_nsec;
}

/* An eighth of the time: the program and what runs beside it need the CPUs,
 * too. */
static int wait_for(pid_t pid, pid_t session)
{
	int status;

	while (waitpid(pid, &status, WNOHANG) == 0) {
		long ns = now_ns();

		take_from_all(session);
		ns = now_ns() - ns;
		ns = ns < LEAST_NS ? LEAST_NS : 7 * ns;
		nanosleep(&(struct timespec){ ns / 1000000000l,
					      ns % 1000000000l }, NULL);
	}
	return status;
}

static void be_the_program(char **argv, bool leads)
{
	prctl(PR_SET_PDEATHSIG, SIGKILL);
	if (!leads)
		setsid();
	execvp(argv[0], argv);
	fprintf(stderr, "taker: %s: %s\n", argv[0], strerror(errno));
	_exit(127);
}

int main(int argc, char **argv)
{
	bool leads = getsid(0) == getpid();
	int status;

	if (argc < 2)
		return 2;
	program = fork();
	if (program == 0)
		be_the_program(argv + 1, leads);
	signal(SIGTERM, pass_on);
	status = wait_for(program, leads ? getpid() : program);
	if (WIFSIGNALED(status)) {
		signal(WTERMSIG(status), SIG_DFL);
		raise(WTERMSIG(status));
	}
	return WEXITSTATUS(status);
}
