/* SPDX-License-Identifier: MIT */
/*
 * given.h - another process that has got the descriptor of a file from us, maps
 * it without ever opening it, and closes it; then both store by turns.
 */
#ifndef GIVEN_H
#define GIVEN_H

#include "peers.h"

#define PAGES 64
#define TURNS 40
#define END 60 /* descriptor of the other process: the socket */

static int old, lost;

/* The other process. What is at 0 of a page goes to us by word, and to 1 if it
 * may. */
static void given_turns(int fd, bool stores)
{
	volatile unsigned char *m;
	unsigned char t;

	m = mmap(NULL, PAGES * PAGE, stores ? RW : PROT_READ, MAP_SHARED, fd,
		 0);
	close(fd);
	while (read(END, &t, 1) == 1) {
		unsigned char seen = m[t * PAGE];

		if (stores)
			m[t * PAGE + 1] = seen;
		if (write(END, &seen, 1) != 1)
			_exit(2);
	}
	_exit(0);
}

static void turns(volatile unsigned char *m, int end, bool stores)
{
	for (unsigned char t = 0, seen; t < TURNS; t++) {
		m[t * PAGE] = (unsigned char)(t + 7);
		if (write(end, &t, 1) != 1 || read(end, &seen, 1) != 1)
			ct_die("no answer");
		old += seen != t + 7;
		old += stores && m[t * PAGE + 1] != t + 7;
		m[t * PAGE + 2] = (unsigned char)(t + 9);
	}
}

static void check(bool stores)
{
	int fd = open(ct_path("f"), O_RDONLY);

	for (int t = 0; t < TURNS; t++) {
		lost += ct_in_file(fd, t * PAGE) != (unsigned char)(t + 7);
		lost += stores &&
			ct_in_file(fd, t * PAGE + 1) != (unsigned char)(t + 7);
		lost += ct_in_file(fd, t * PAGE + 2) != (unsigned char)(t + 9);
	}
	close(fd);
}

#endif
