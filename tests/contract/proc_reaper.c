/* SPDX-License-Identifier: MIT */
/* X16: a process that orphans come to, as the first one of a container, waits
 * for any child: it is told of its own, and of no other. */
/* timeout: 60 */
#include "ct.h"

#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>

static void store(const char *name)
{
	int fd = ct_file(name, 16 * PAGE);
	char *p = ct_map(fd, 16 * PAGE, RW, MAP_SHARED, 0);

	for (int i = 0; i < 16; i++)
		p[i * PAGE] = 's';
}

static pid_t worker(const char *name, int ms, int status)
{
	pid_t pid = fork();

	if (pid)
		return pid;
	store(name);
	usleep((unsigned)ms * 1000);
	_exit(status);
}

static void say_wait(const char *what, pid_t r, int status)
{
	if (r < 0)
		say("X16 %s: %s", what, strerrorname_np(errno));
	else
		say("X16 %s: %s", what, !r ? "nobody" : WIFEXITED(status) &&
		    WEXITSTATUS(status) ? "a worker" : "somebody else");
}

static void each_way(const char *what)
{
	siginfo_t info;
	int status;
	pid_t r;

	say("-- %s", what);
	store("own");
	worker("w1", 0, 1);
	worker("w2", 300, 2);
	for (int i = 0; i < 3; i++) {
		r = wait(&status);
		say_wait("wait", r, status);
	}
	worker("w1", 0, 1);
	worker("w2", 200, 2);
	for (int i = 0; i < 2; i++) {
		info.si_pid = 0;
		r = waitid(P_ALL, 0, &info, WEXITED);
		say("X16 waitid: %ld %d", (long)r,
		    info.si_status == 1 || info.si_status == 2);
	}
	worker("w1", 0, 1);
	while ((r = waitpid(-1, &status, WNOHANG)) == 0)
		usleep(1000);
	say_wait("waitpid", r, status);
	do { /* ours may come a little later */
		usleep(10000);
		r = waitpid(-1, &status, WNOHANG);
	} while (r == 0);
	say_wait("waitpid", r, status);
}

static int first_process(void *arg CT_UNUSED)
{
	if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
	    mount("proc", "/proc", "proc", 0, NULL))
		ct_die("mount");
	each_way("the first process");
	exit(0);
}

static void in_a_namespace(void)
{
	if (geteuid() != 0 || unshare(CLONE_NEWPID | CLONE_NEWNS)) {
		say("-- no namespace");
		return;
	}
	say("X16 namespace: %d", ct_child(first_process, NULL));
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	in_a_namespace();
	if (prctl(PR_SET_CHILD_SUBREAPER, 1))
		ct_die("prctl");
	if (geteuid() != 0)
		each_way("a subreaper");
	return 0;
}
