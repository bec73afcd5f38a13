/* SPDX-License-Identifier: MIT */
/*
 * peers.h - a second process on the same file, for the peers_ and fork_
 * programs. It is this program again, executed with a role as argv[2], and
 * does what it is told over a socket: so every step is ordered.
 */
#ifndef PEERS_H
#define PEERS_H

#include "ct.h"

#include <spawn.h>
#include <sys/socket.h>

struct peer {
	pid_t pid;
	int sock;
};

struct order {
	/* m map, u unmap, r read map, w write map, R W T by system call */
	char op;
	int prot, flags;
	size_t off, len;
	unsigned char value;
};

extern char **environ;

/* This program again, with our descriptor fd as number `as`, and then not here
 * any more. native: in an empty environment. */
CT_UNUSED static pid_t peer_spawn(char **argv, int fd, int as, bool native)
{
	posix_spawn_file_actions_t fa;
	char *none[] = { NULL };
	pid_t pid;

	posix_spawn_file_actions_init(&fa);
	posix_spawn_file_actions_adddup2(&fa, fd, as);
	if (posix_spawn(&pid, argv[0], &fa, NULL, argv,
			native ? none : environ))
		ct_die("posix_spawn");
	posix_spawn_file_actions_destroy(&fa);
	close(fd);
	return pid;
}

/* native: without the library, whatever we run with. Spawned, not forked: a
 * fork hands the files over by itself. */
CT_UNUSED static struct peer peer_start(const char *self, const char *file,
					bool native)
{
	char *argv[] = { (char *)self, ct_dir, "peer", (char *)file, NULL };
	char *preload =
		getenv("LD_PRELOAD") ? strdup(getenv("LD_PRELOAD")) : NULL;
	posix_spawn_file_actions_t actions;
	struct peer p;
	int s[2];

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, s))
		ct_die("socketpair");
	if (s[1] == 3) { /* dup2 onto itself would leave it close-on-exec */
		s[1] = fcntl(3, F_DUPFD_CLOEXEC, 4);
		close(3);
	}
	posix_spawn_file_actions_init(&actions);
	posix_spawn_file_actions_adddup2(&actions, s[1], 3);
	if (native)
		unsetenv("LD_PRELOAD");
	if (posix_spawn(&p.pid, self, &actions, NULL, argv, environ))
		ct_die("posix_spawn");
	if (preload)
		setenv("LD_PRELOAD", preload, 1);
	free(preload);
	posix_spawn_file_actions_destroy(&actions);
	close(s[1]);
	p.sock = s[0];
	return p;
}

/* A new file with the pattern, not an old inode that was handed over. */
CT_UNUSED static int peer_file(const char *name, size_t size)
{
	unlink(ct_path(name));
	return ct_file(name, size);
}

CT_UNUSED static int peer_do(struct peer p, struct order o)
{
	int answer = -1;

	if (send(p.sock, &o, sizeof(o), 0) != sizeof(o) ||
	    recv(p.sock, &answer, sizeof(answer), 0) != sizeof(answer))
		ct_die("peer");
	return answer;
}

CT_UNUSED static int peer_map(struct peer p, int prot, size_t len)
{
	return peer_do(p, (struct order){ .op = 'm',
					  .prot = prot,
					  .flags = MAP_SHARED,
					  .len = len });
}

CT_UNUSED static int peer_load(struct peer p, size_t off)
{
	return peer_do(p, (struct order){ .op = 'r', .off = off });
}

CT_UNUSED static int peer_store(struct peer p, size_t off, unsigned char v)
{
	return peer_do(p, (struct order){ .op = 'w', .off = off, .value = v });
}

CT_UNUSED static int peer_read(struct peer p, size_t off)
{
	return peer_do(p, (struct order){ .op = 'R', .off = off });
}

CT_UNUSED static int peer_write(struct peer p, size_t off, unsigned char v)
{
	return peer_do(p, (struct order){ .op = 'W', .off = off, .value = v });
}

CT_UNUSED static int peer_size(struct peer p, size_t size)
{
	return peer_do(p, (struct order){ .op = 'T', .off = size });
}

CT_UNUSED static void peer_end(struct peer p)
{
	int status;

	close(p.sock);
	waitpid(p.pid, &status, 0);
	if (status)
		say("peer ended with %d", status);
}

static int peer_obey(int fd, char **map, const struct order *o)
{
	unsigned char b = o->value;

	switch (o->op) {
	case 'm':
		*map = mmap(NULL, o->len, o->prot, o->flags, fd, 0);
		return *map == MAP_FAILED ? -1 : 0;
	case 'u':
		return munmap(*map, o->len);
	case 'r':
		return *(volatile unsigned char *)(*map + o->off);
	case 'w':
		*(volatile unsigned char *)(*map + o->off) = b;
		return 0;
	case 'R':
		return pread(fd, &b, 1, (off_t)o->off) == 1 ? b : -1;
	case 'W':
		return pwrite(fd, &b, 1, (off_t)o->off) == 1 ? 0 : -1;
	case 'T':
		return ftruncate(fd, (off_t)o->off);
	case 'k':
		kill(getpid(), SIGKILL);
	}
	return -2;
}

/* First thing in main after ct_begin. */
CT_UNUSED static void peer_role(int argc, char **argv)
{
	struct order o;
	char *map = NULL;
	int fd;

	if (argc < 4 || strcmp(argv[2], "peer"))
		return;
	fd = open(argv[3], O_RDWR);
	while (recv(3, &o, sizeof(o), 0) == sizeof(o)) {
		int answer = peer_obey(fd, &map, &o);

		if (send(3, &answer, sizeof(answer), MSG_NOSIGNAL) < 0)
			break;
	}
	_exit(0);
}

/* Another process's use is noticed, not announced: give it this long. */
CT_UNUSED static bool soon(int (*get)(void *), void *arg, int want)
{
	for (int ms = 0; ms < 3000; ms++) {
		if (get(arg) == want)
			return true;
		usleep(1000);
	}
	return false;
}

#endif
