/* SPDX-License-Identifier: MIT */
/* heirs.h - a program that inherits the descriptor of a file that we have
 * mapped, and a socket: "PROGRAM DIR heir w|r". */
#ifndef HEIRS_H
#define HEIRS_H

#include "given.h"

#include <sys/wait.h>

#define FILE_FD 61 /* of the other process */

static void heir_role(int argc, char **argv)
{
	if (argc < 4 || strcmp(argv[2], "heir"))
		return;
	given_turns(FILE_FD, *argv[3] == 'w');
}

struct legacy {
	int fd, end; /* the file; our end of the socket */
	unsigned char *map;
};

/* The heir's descriptors are open afterwards, until heir_has_them. */
static struct legacy legacy_make(bool stores)
{
	int s[2], fd = peer_file("f", PAGES * PAGE), given;
	unsigned char *m;

	fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s))
		ct_die("socketpair");
	m = (void *)ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	for (int i = 0; i < PAGES; i++)
		m[i * PAGE] = 1;
	given = stores ? dup(fd) : open(ct_path("f"), O_RDONLY);
	dup2(given, FILE_FD);
	dup2(s[1], END);
	close(given);
	close(s[1]);
	return (struct legacy){ fd, s[0], m };
}

static void heir_has_them(void)
{
	close(FILE_FD);
	close(END);
}

/* Both store by turns, and we go. */
static void legacy_use(const struct legacy *l, bool stores)
{
	turns(l->map, l->end, stores);
	munmap(l->map, PAGES * PAGE);
	close(l->end);
}

#endif
