/* SPDX-License-Identifier: MIT */
/* C31p: the size of a terminal that openpty makes comes from the file. */
#include "ct.h"

#include <pty.h>
#include <sys/ioctl.h>

int main(int argc, char **argv)
{
	struct winsize is = { 0 }, given = { .ws_row = 24, .ws_col = 80 };
	struct winsize *w;
	int fd, a, b;
	char *p;

	ct_begin(argc, argv);
	fd = ct_file("f", 16 * PAGE);
	ct_pwrite(fd, &given, sizeof(given), 5 * PAGE - 4);
	p = ct_map(fd, 16 * PAGE, RW, MAP_SHARED, 0);
	w = (struct winsize *)(p + 5 * PAGE - 4);
	say("C31p openpty: %s", ct_errno(openpty(&a, &b, NULL, NULL, w)));
	ioctl(a, TIOCGWINSZ, &is);
	say("C31p its size: %d, %d", is.ws_row, is.ws_col);
	return 0;
}
