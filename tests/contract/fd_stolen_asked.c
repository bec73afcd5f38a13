/* SPDX-License-Identifier: MIT */
/*
 * F6k: a process stores to two files and closes every descriptor by an
 * instruction of its own (fd_stolen). Another one maps the first file, then the
 * other: it sees what was stored and what is from then on, for who is asked for
 * a file answers still.
 */
#include "ct.h"

#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define N 64ul

static const char *const names[] = { "one", "two" };

static _Atomic int *turn; /* odd: the other's */

static void wait_for(int n)
{
	while (atomic_load(turn) != n)
		usleep(1000);
}

static int thief(void)
{
	char *p[2];

	for (int i = 0; i < 2; i++) {
		p[i] = ct_map(open(ct_path(names[i]), O_RDWR), N * PAGE, RW,
			      MAP_SHARED, 0);
		p[i][PAGE] = 'S';
	}
	ct_raw(SYS_close_range, 3, ~0u, 0, 0);
	atomic_store(turn, 1);
	for (int i = 0; i < 2; i++) {
		wait_for(2 * i + 2);
		p[i][2 * PAGE] = 'T';
		atomic_store(turn, 2 * i + 3);
	}
	return 0;
}

int main(int argc, char **argv)
{
	pid_t pid;

	ct_begin(argc, argv);
	for (int i = 0; i < 2; i++)
		close(ct_file(names[i], N * PAGE));
	turn = mmap(NULL, PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	pid = fork();
	if (!pid)
		_exit(thief());
	wait_for(1);
	for (int i = 0; i < 2; i++) {
		int fd = open(ct_path(names[i]), O_RDWR);
		char *p = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);

		say("F6k %s: %c", names[i], p[PAGE]);
		atomic_store(turn, 2 * i + 2);
		wait_for(2 * i + 3);
		say("F6k %s: %c", names[i], p[2 * PAGE]);
		/* by then the one who was asked polls descriptors anew */
		usleep(300000);
	}
	waitpid(pid, NULL, 0);
	return 0;
}
