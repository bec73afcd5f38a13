/* SPDX-License-Identifier: MIT */
/*
 * C62: a program that we spawn, or that a child of fork or vfork becomes, inherits the
 * descriptor of a file that we have mapped. It maps it without ever opening it, closes
 * it, and both store by turns.
 */
#include "peers.h"

#include <sys/wait.h>

#define PAGES 64
#define TURNS 40
#define END 60 /* descriptors of the other process */
#define FILE_FD 61

static const char *self;
static int old, lost;

enum way { SPAWN, FORK, VFORK, FORK_TWICE };

/* ---- the other process -------------------------------------------------- */

static void heir_role(int argc, char **argv)
{
	volatile unsigned char *m;
	unsigned char t;
	bool stores;

	if (argc < 4 || strcmp(argv[2], "heir"))
		return;
	stores = *argv[3] == 'w';
	m = mmap(NULL, PAGES * PAGE, stores ? RW : PROT_READ, MAP_SHARED, FILE_FD, 0);
	close(FILE_FD);
	while (read(END, &t, 1) == 1) {
		unsigned char seen = m[t * PAGE];

		if (stores)
			m[t * PAGE + 1] = seen;
		if (write(END, &seen, 1) != 1)
			_exit(2);
	}
	_exit(0);
}

/* ---- we ------------------------------------------------------------------- */

static void become(char **argv)
{
	char *none[] = { NULL };

	execve(argv[0], argv, none);
	_exit(1);
}

static pid_t start(enum way way, char **argv)
{
	char *none[] = { NULL };
	pid_t pid = -1;

	switch (way) {
	case SPAWN:
		return posix_spawn(&pid, argv[0], NULL, NULL, argv, none) ? -1 : pid;
	case VFORK:
		pid = vfork();
		if (!pid)
			become(argv);
		return pid;
	case FORK:
	case FORK_TWICE:
		pid = fork();
		if (!pid) {
			if (way == FORK || !fork())
				become(argv);
			_exit(0);
		}
	}
	return pid;
}

static void turns(volatile unsigned char *m, int end, bool stores)
{
	for (unsigned char t = 0, seen; t < TURNS; t++) {
		m[t * PAGE] = (unsigned char)(t + 7);
		if (write(end, &t, 1) != 1 || read(end, &seen, 1) != 1)
			ct_die("no answer");
		old += seen != t + 7;
		old += stores && m[t * PAGE + 1] != t + 7;
		m[t * PAGE + 2] = (unsigned char)(t + 9);
	}
}

static void check(bool stores)
{
	int fd = open(ct_path("f"), O_RDONLY);

	for (int t = 0; t < TURNS; t++) {
		lost += ct_in_file(fd, t * PAGE) != (unsigned char)(t + 7);
		lost += stores && ct_in_file(fd, t * PAGE + 1) != (unsigned char)(t + 7);
		lost += ct_in_file(fd, t * PAGE + 2) != (unsigned char)(t + 9);
	}
	close(fd);
}

/* how: 1 we keep it open, 2 the other only reads */
static void one(enum way way, int how)
{
	const bool stores = !(how & 2);
	char *argv[] = { (char *)self, ct_dir, "heir", stores ? "w" : "r", NULL };
	int s[2], fd = peer_file("f", PAGES * PAGE), given;
	unsigned char *m;
	pid_t pid;

	fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s))
		ct_die("socketpair");
	m = (void *)ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	for (int i = 0; i < PAGES; i++)
		m[i * PAGE] = 1;
	given = stores ? dup(fd) : open(ct_path("f"), O_RDONLY);
	dup2(given, FILE_FD);
	dup2(s[1], END);
	close(given);
	close(s[1]);
	pid = start(way, argv);
	if (pid < 0)
		ct_die("start");
	close(FILE_FD);
	close(END);
	if (!(how & 1))
		close(fd);
	turns(m, s[0], stores);
	munmap(m, PAGES * PAGE);
	close(s[0]);
	waitpid(pid, NULL, 0);
	if (how & 1)
		close(fd);
	check(stores);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	heir_role(argc, argv);
	self = argv[0];
	for (int how = 0; how < 16; how++)
		one((enum way)(how / 4), how % 4);
	say("C62 old %d, lost %d", old, lost);
	return 0;
}
