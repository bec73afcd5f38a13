/* SPDX-License-Identifier: MIT */
/* X06e: a thread confines itself by a filter that refuses, with an error, what
 * submits to an io_uring, and goes on using a mapping that it has used: it
 * ends, well or by SIGBUS. */
#include "filter.h"

#define PAGES 2048ul

static const int refused[] = {
	SYS_io_uring_enter, SYS_io_uring_setup, SYS_io_uring_register,
};
#define N (sizeof(refused) / sizeof(*refused))

static int confined(void *arg)
{
	const unsigned error = *(unsigned *)arg;
	int fd = ct_file("refused", PAGES * PAGE), wrong = 0;
	volatile unsigned char *p;

	signal(SIGBUS, SIG_DFL);
	ct_uncache(fd);
	p = (void *)ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	for (size_t i = 0; i < 4; i++)
		wrong += p[i * PAGE] != ct_byte(i * PAGE);
	ct_filter(refused, N, SECCOMP_RET_ERRNO | error, SECCOMP_RET_ALLOW, 0);
	for (size_t i = PAGES - 1; i > PAGES / 2; i -= 7)
		wrong += p[i * PAGE] != ct_byte(i * PAGE);
	_exit(wrong);
}

static void run(const char *what, unsigned error)
{
	const int how = ct_child(confined, &error);

	say("X06e %s: %s", what, !how || how == -SIGBUS ? "ends" : "does not");
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	run("EPERM", EPERM);
	run("ENOSYS", ENOSYS);
	return 0;
}
