/* SPDX-License-Identifier: MIT */
/*
 * F6: the same theft (fd_stolen) from a program that only reads. The kernel
 * takes a ring and what it holds apart some time after the last descriptor has
 * gone.
 */
#include "ct.h"

#include <sys/syscall.h>

#define N 512ul

static void look(const char *what, int flags)
{
	int fd = open(ct_path("read"), O_RDONLY), got;
	char *p = ct_map(fd, N * PAGE, PROT_READ, flags, 0);
	size_t bad = 0;

	say("F6 %s before: %d", what, ct_matches(p, PAGE, 0));
	ct_raw(SYS_close_range, 3, ~0u, 0, 0);
	usleep(700000);
	for (size_t i = 0; i < N; i++) {
		got = ct_load(p + i * PAGE + 77);
		bad += got != ct_byte(i * PAGE + 77);
	}
	say("F6 %s after: %zu wrong", what, bad);
	munmap(p, N * PAGE);
}

static void shared(void)
{
	look("shared", MAP_SHARED);
}

static void private(void)
{
	look("private", MAP_PRIVATE);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	close(ct_file("read", N * PAGE));
	say_child("F6 shared", shared);
	say_child("F6 private", private);
	return 0;
}
