/* SPDX-License-Identifier: MIT */
/* idle.h - what parents and children of a fork do with a file that nobody has
 * mapped meanwhile. */
#ifndef IDLE_H
#define IDLE_H

#include "ct.h"

#define N (64 * PAGE)

static char *map_file(void)
{
	int fd = open(ct_path("f"), O_RDWR);
	char *p = ct_map(fd, N, RW, MAP_SHARED, 0);

	close(fd); /* who has it open counts as another user */
	return p;
}

/* All of it is read, two bytes are stored, and it is unmapped. */
static void use(const char *row, const char *who)
{
	char *p = map_file();
	int bad = 0;

	for (size_t i = 0; i < N; i += PAGE)
		bad += !ct_matches(p + i + 8, 64, i + 8);
	p[0]++;
	p[N - 1]++;
	say("%s %s: wrong %d, after %d stores", row, who, bad,
	    (unsigned char)p[0] - ct_byte(0));
	munmap(p, N);
}

#endif
