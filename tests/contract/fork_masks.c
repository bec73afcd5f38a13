/* SPDX-License-Identifier: MIT */
/* X13: fork beside _Fork of a thread with another signal mask: each keeps its
 * own. */
#include "ct.h"

#include <pthread.h>
#include <stdatomic.h>

#define TIMES 300

static _Atomic int stop;

static bool blocks_term(void)
{
	sigset_t now;

	pthread_sigmask(SIG_SETMASK, NULL, &now);
	return sigismember(&now, SIGTERM);
}

static void *forks_blocked(void *arg CT_UNUSED)
{
	long other = 0;
	sigset_t all;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, NULL);
	while (!atomic_load(&stop)) {
		pid_t pid = _Fork();

		if (!pid)
			_exit(0);
		waitpid(pid, NULL, 0);
		other += !blocks_term();
	}
	return (void *)other;
}

int main(int argc, char **argv)
{
	int fd, status, other = 0, child = 0;
	pthread_t id;
	void *r;
	char *p;

	ct_begin(argc, argv);
	fd = ct_file("f", 16 * PAGE);
	p = ct_map(fd, 16 * PAGE, RW, MAP_SHARED, 0);
	p[0] = 1;
	pthread_create(&id, NULL, forks_blocked, NULL);
	for (int i = 0; i < TIMES; i++) {
		pid_t pid = fork();

		if (!pid)
			_exit(blocks_term());
		waitpid(pid, &status, 0);
		child += status != 0;
		other += blocks_term();
	}
	atomic_store(&stop, 1);
	pthread_join(id, &r);
	say("X13 of %d forks: another mask in the child %d, in the parent %d, beside it %ld",
	    TIMES, child, other, (long)r);
	return 0;
}
