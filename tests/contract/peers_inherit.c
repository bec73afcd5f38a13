/* SPDX-License-Identifier: MIT */
/*
 * C62: a program that we spawn, that a child of fork or vfork becomes, or that
 * system or popen run, inherits the descriptor of a file that we have mapped.
 * It maps it without ever opening it, closes it, and both store by turns.
 */
#include "heirs.h"

static const char *self;

enum way { SPAWN, FORK, VFORK, FORK_TWICE, FORK_VFORK, SYSTEM, POPEN, WAYS };

static FILE *shell;

/* ---- we ---------------------------------------------------------------- */

static void become(char **argv)
{
	char *none[] = { NULL };

	execve(argv[0], argv, none);
	_exit(1);
}

/* The program without a library; 0: it is not our child. */
static pid_t by_shell(bool wait_for_it, char **argv)
{
	char line[4200];

	snprintf(line, sizeof(line), "%senv -i %s %s %s %s%s",
		 wait_for_it ? "" : "exec ", argv[0], argv[1], argv[2], argv[3],
		 wait_for_it ? " &" : "");
	if (wait_for_it)
		return system(line) ? -1 : 0;
	shell = popen(line, "r");
	return shell ? 0 : -1;
}

static pid_t in_child(enum way way, char **argv)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	if (way == FORK || (way == FORK_TWICE && !fork()) ||
	    (way == FORK_VFORK && !vfork()))
		become(argv);
	_exit(0);
}

static pid_t start(enum way way, char **argv)
{
	char *none[] = { NULL };
	pid_t pid = -1;

	switch (way) {
	case SPAWN:
		return posix_spawn(&pid, argv[0], NULL, NULL, argv, none) ? -1
									  : pid;
	case VFORK:
		pid = vfork();
		if (!pid)
			become(argv);
		return pid;
	case SYSTEM:
	case POPEN:
		return by_shell(way == SYSTEM, argv);
	default:
		return in_child(way, argv);
	}
}

/* how: 1 we keep it open, 2 the other only reads */
static void one(enum way way, int how)
{
	const bool stores = !(how & 2);
	char *argv[] = { (char *)self, ct_dir, "heir", stores ? "w" : "r",
			 NULL };
	struct legacy l = legacy_make(stores);
	pid_t pid = start(way, argv);

	if (pid < 0)
		ct_die("start");
	heir_has_them();
	if (!(how & 1))
		close(l.fd);
	legacy_use(&l, stores);
	if (pid)
		waitpid(pid, NULL, 0);
	if (shell)
		pclose(shell);
	shell = NULL;
	if (how & 1)
		close(l.fd);
	check(stores);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	heir_role(argc, argv);
	self = argv[0];
	for (int how = 0; how < WAYS * 4; how++)
		one((enum way)(how / 4), how % 4);
	say("C62 old %d, lost %d", old, lost);
	return 0;
}
