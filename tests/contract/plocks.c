/* SPDX-License-Identifier: MIT */
/* C45: record locks of the program on a file that it maps and unmaps stay, also
 * where the engine's files are descriptors that it closes. */
/* env: FASTMAP_URING=no */
#include "ct.h"

#include <spawn.h>
#include <sys/wait.h>

#define N (16 * PAGE)

extern char **environ;
static char **self;

/* Another process: may it have the lock? */
static void ask_role(int argc, char **argv)
{
	struct flock l = { .l_type = F_WRLCK, .l_whence = SEEK_SET };
	int fd;

	if (argc < 4 || strcmp(argv[2], "ask"))
		return;
	fd = open(argv[3], O_RDWR);
	if (fd < 0 || fcntl(fd, F_GETLK, &l))
		_exit(2);
	_exit(l.l_type == F_UNLCK);
}

static const char *held(const char *name)
{
	char *argv[] = { self[0], ct_dir, "ask", (char *)ct_path(name), NULL };
	int status = -1;
	pid_t pid;

	if (posix_spawn(&pid, self[0], NULL, NULL, argv, environ) ||
	    waitpid(pid, &status, 0) != pid)
		ct_die("posix_spawn");
	return status == 0 ? "held" : "lost";
}

static void lock(int fd, int type)
{
	struct flock l = { .l_type = (short)type, .l_whence = SEEK_SET };

	if (fcntl(fd, F_SETLK, &l))
		ct_die("fcntl");
}

static void one(const char *name, bool before, int prot, int flags)
{
	int fd = ct_file(name, N);
	volatile char *m;

	if (before)
		lock(fd, F_WRLCK);
	m = ct_map(fd, N, prot, flags, 0);
	if (!before)
		lock(fd, F_WRLCK);
	say("C45 %s: read %d", name,
	    (unsigned char)m[3 * PAGE] == ct_byte(3 * PAGE));
	say("C45 %s mapped: %s", name, held(name));
	if (prot & PROT_WRITE)
		m[5 * PAGE] = 7;
	munmap((void *)m, N);
	say("C45 %s unmapped: %s", name, held(name));
	m = ct_map(fd, N, prot, flags, 0);
	say("C45 %s again: %s, %d", name, held(name), m[5 * PAGE]);
	munmap((void *)m, N);
	lock(fd, F_UNLCK);
	say("C45 %s given up: %s", name, held(name));
	close(fd);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	self = argv;
	ask_role(argc, argv);
	one("locked", true, RW, MAP_SHARED);
	one("mapped", false, RW, MAP_SHARED);
	one("read", false, PROT_READ, MAP_SHARED);
	one("private", false, RW, MAP_PRIVATE);
	return 0;
}
