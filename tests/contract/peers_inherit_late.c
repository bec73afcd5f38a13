/* SPDX-License-Identifier: MIT */
/*
 * C69: as peers_inherit with vfork, while the thread that has to hand the file
 * over stands still for much longer than that usually takes.
 */
#include "given.h"
#include "stopped.h"

#include <sys/wait.h>

#define FILE_FD 61 /* of the other process */
#define STILL_MS 300

static const char *self;

static void heir_role(int argc, char **argv)
{
	if (argc < 4 || strcmp(argv[2], "heir"))
		return;
	given_turns(FILE_FD, *argv[3] == 'w');
}

static pid_t start(char **argv)
{
	char *none[] = { NULL };
	pid_t pid = vfork();

	if (!pid) {
		execve(argv[0], argv, none);
		_exit(1);
	}
	return pid;
}

static void one(bool stores)
{
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
	stop_thread("fastmap-wb", STILL_MS);
	pid = start(argv);
	if (pid < 0)
		ct_die("start");
	close(FILE_FD);
	close(END);
	close(fd);
	turns(m, s[0], stores);
	munmap(m, PAGES * PAGE);
	close(s[0]);
	waitpid(pid, NULL, 0);
	check(stores);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	heir_role(argc, argv);
	self = argv[0];
	stopper_start();
	for (int how = 0; how < 8; how++)
		one(how & 1);
	say("C69 old %d, lost %d", old, lost);
	return 0;
}
