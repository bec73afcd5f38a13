/* SPDX-License-Identifier: MIT */
/* X12: when the file is unmapped and closed everywhere nobody has it open any
 * more: a write lease is to be had. Before, a child of fork has used the
 * mapping, or left it. */
#include "ct.h"

#define LEN (64 * PAGE)

static char *map;

static void loads(void)
{
	_exit(map[0] == 'a' ? 0 : 1);
}

/* Late: what it does then must not touch a lease that is there by now. */
static void unmaps_and_stays(void)
{
	usleep(50000);
	munmap(map, LEN);
	for (;;)
		pause();
}

static void locks(void)
{
	mlock(map, PAGE);
	munlock(map, PAGE);
}

static void lease(const char *what)
{
	int fd = open(ct_path("f"), O_RDWR);
	int r = -1;

	/* What is let go of by other threads may take a moment. */
	for (int i = 0; i < 200 && r; i++) {
		r = fcntl(fd, F_SETLEASE, F_WRLCK);
		if (r)
			usleep(5000);
	}
	r = r ? errno : 0;
	usleep(100000);
	say("X12 %s: lease: %s", what, r ? strerror(r) : "ok");
	close(fd);
	unlink(ct_path("f"));
}

static void one(const char *what, void (*child)(void), void (*here)(void))
{
	int fd = ct_file("f", LEN), status = 0;
	pid_t pid = 0;

	map = ct_map(fd, LEN, RW, MAP_SHARED, 0);
	close(fd);
	map[0] = 'a';
	if (child) {
		pid = fork();
		if (!pid)
			child();
	}
	if (here)
		here();
	if (child == loads) {
		waitpid(pid, &status, 0);
		say("X12 %s: child %d", what, status);
	}
	munmap(map, LEN);
	lease(what);
	if (pid && child != loads) {
		kill(pid, SIGKILL);
		waitpid(pid, NULL, 0);
	}
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	one("mapped", NULL, NULL);
	one("the child loads", loads, NULL);
	one("the child leaves", unmaps_and_stays, NULL);
	one("locked in memory", NULL, locks);
	return 0;
}
