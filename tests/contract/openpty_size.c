/* SPDX-License-Identifier: MIT */
/* C31p: the size of a terminal that openpty and forkpty make, and the path of
 * ftok, come from the file. */
#include "ct.h"

#include <pty.h>
#include <sys/ioctl.h>
#include <sys/ipc.h>

int main(int argc, char **argv)
{
	struct winsize is = { 0 }, given = { .ws_row = 24, .ws_col = 80 };
	struct winsize *w;
	int fd, a, b;
	pid_t pid;
	char *p;

	ct_begin(argc, argv);
	fd = ct_file("f", 16 * PAGE);
	ct_pwrite(fd, &given, sizeof(given), 5 * PAGE - 4);
	ct_pwrite(fd, "/", 2, 9 * PAGE - 1);
	p = ct_map(fd, 16 * PAGE, RW, MAP_SHARED, 0);
	w = (struct winsize *)(p + 5 * PAGE - 4);
	say("C31p openpty: %s", ct_errno(openpty(&a, &b, NULL, NULL, w)));
	ioctl(a, TIOCGWINSZ, &is);
	say("C31p its size: %d, %d", is.ws_row, is.ws_col);
	madvise(p, 8 * PAGE, MADV_DONTNEED);
	pid = forkpty(&a, NULL, NULL, w);
	if (!pid)
		_exit(0);
	ioctl(a, TIOCGWINSZ, &is);
	say("C31p forkpty: %d, its size: %d, %d", pid > 0, is.ws_row,
	    is.ws_col);
	waitpid(pid, NULL, 0);
	say("C31p ftok: %d", ftok(p + 9 * PAGE - 1, 7) == ftok("/", 7));
	return 0;
}
