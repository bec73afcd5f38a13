/* SPDX-License-Identifier: MIT */
/* X14: a thread has every signal blocked by a raw system call when the file is
 * mapped. Children of fork of that thread, and of another, use the mapping.
 *
 * not engaged: with signals the engine steps aside
 */
#include "ct.h"

#include <pthread.h>
#include <sys/syscall.h>

static char *p;
static pthread_barrier_t ready, mapped;

static void child_uses(const char *what)
{
	pid_t pid = fork();
	int status;

	if (!pid) {
		if (!ct_matches(p + 3 * PAGE, 5 * PAGE, 3 * PAGE) ||
		    p[2 * PAGE] != 's')
			_exit(1);
		p[9 * PAGE] = 'c';
		_exit(0);
	}
	status = ct_ended(pid); /* first: then its store is there */
	say("X14 %s: status %d, its store %c", what, status,
	    p[9 * PAGE]);
	p[9 * PAGE] = '-';
}

static void *blocked(void *arg)
{
	uint64_t all = ~0ull;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
	pthread_barrier_wait(&ready);
	pthread_barrier_wait(&mapped);
	child_uses("of the thread that blocks");
	return arg;
}

int main(int argc, char **argv)
{
	pthread_t id;
	int fd;

	ct_begin(argc, argv);
	pthread_barrier_init(&ready, NULL, 2);
	pthread_barrier_init(&mapped, NULL, 2);
	pthread_create(&id, NULL, blocked, NULL);
	pthread_barrier_wait(&ready);
	fd = ct_file("f", 16 * PAGE);
	p = ct_map(fd, 16 * PAGE, RW, MAP_SHARED, 0);
	p[2 * PAGE] = 's';
	child_uses("of another thread");
	pthread_barrier_wait(&mapped);
	pthread_join(id, NULL);
	say("X14 here: %d", ct_matches(p, PAGE, 0));
	return 0;
}
