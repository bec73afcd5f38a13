/* SPDX-License-Identifier: MIT */
/*
 * F6: the same theft (fd_stolen) from a program that only reads. The kernel
 * takes a ring and what it holds apart some time after the last descriptor has
 * gone. Or the numbers are used again, by a pipe from which nothing comes.
 */
#include "ct.h"

#include <sys/syscall.h>

#define N 512ul
#define NUMBERS 4096

/* Each number is that of a pipe, from which nothing comes. */
static void close_all(bool piped)
{
	static bool was[NUMBERS];
	int ends[2];

	for (int i = 3; piped && i < NUMBERS; i++)
		was[i] = ct_raw(SYS_fcntl, i, F_GETFD, 0, 0) >= 0;
	ct_raw(SYS_close_range, 3, ~0u, 0, 0);
	if (!piped)
		return;
	if (pipe(ends))
		ct_die("pipe");
	for (int i = 3; i < NUMBERS; i++)
		if (was[i] && i != ends[0] && i != ends[1])
			ct_raw(SYS_dup2, ends[0], i, 0, 0);
}

static void look(const char *what, int flags, bool piped)
{
	int fd = open(ct_path("read"), O_RDONLY), got;
	char *p = ct_map(fd, N * PAGE, PROT_READ, flags, 0);
	size_t bad = 0;

	say("F6 %s before: %d", what, ct_matches(p, PAGE, 0));
	close_all(piped);
	usleep(piped ? 0 : 700000);
	for (size_t i = 0; i < N; i++) {
		got = ct_load(p + i * PAGE + 77);
		bad += got != ct_byte(i * PAGE + 77);
	}
	say("F6 %s after: %zu wrong", what, bad);
	munmap(p, N * PAGE);
}

static void shared(void)
{
	look("shared", MAP_SHARED, false);
}

static void private(void)
{
	look("private", MAP_PRIVATE, false);
}

static void piped(void)
{
	alarm(20);
	look("piped", MAP_SHARED, true);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	close(ct_file("read", N * PAGE));
	say_child("F6 shared", shared);
	say_child("F6 private", private);
	say_child("F6 piped", piped);
	return 0;
}
