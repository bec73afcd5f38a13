/* SPDX-License-Identifier: MIT */
/*
 * C69: as peers_inherit with vfork, while the thread that has to hand the file
 * over stands still for much longer than that usually takes.
 */
#include "heirs.h"
#include "stopped.h"

#define STILL_MS 300

static const char *self;

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
	struct legacy l = legacy_make(stores);
	pid_t pid;

	stop_thread("fastmap-wb", STILL_MS);
	pid = start(argv);
	if (pid < 0)
		ct_die("start");
	heir_has_them();
	close(l.fd);
	legacy_use(&l, stores);
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
