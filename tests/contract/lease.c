/* SPDX-License-Identifier: MIT */
/* L04: mapping a file leaves leases and the owner of its descriptor alone. */
#include "ct.h"

static void look(const char *when, int fd)
{
	say("L04 %s: owner %s, signal %d, lease %s", when,
	    fcntl(fd, F_GETOWN) == getpid() ? "me" :
	    fcntl(fd, F_GETOWN) ? "?" : "none", fcntl(fd, F_GETSIG),
	    fcntl(fd, F_GETLEASE) == F_UNLCK ? "none" :
	    fcntl(fd, F_GETLEASE) == F_RDLCK ? "read" : "?");
}

static void map_and_look(const char *when, int fd)
{
	char *p = ct_map(fd, 8 * PAGE, PROT_READ, MAP_SHARED, 0);

	say("L04 %s: contents %d", when, ct_matches(p, 8 * PAGE, 0));
	look(when, fd);
	munmap(p, 8 * PAGE);
	look(when, fd);
}

static int another(int n)
{
	char name[32];

	snprintf(name, sizeof(name), "lease%d", n);
	close(ct_file(name, 8 * PAGE));
	return open(ct_path(name), O_RDONLY);
}

int main(int argc, char **argv)
{
	char *p;
	int fd;

	ct_begin(argc, argv);
	for (int i = 0; i < 8; i++) {
		map_and_look("plain", another(i));
		usleep(3000); /* the engine's threads begin with the first */
	}
	fd = another(8);
	say_rc("L04 own owner", fcntl(fd, F_SETOWN, getpid()));
	map_and_look("own owner", fd);
	fd = another(9);
	signal(SIGIO, SIG_IGN);
	say_rc("L04 own lease", fcntl(fd, F_SETLEASE, F_RDLCK));
	map_and_look("own lease", fd);
	fd = another(10);
	p = ct_map(fd, 8 * PAGE, PROT_READ, MAP_SHARED, 0);
	say_rc("L04 lease on a mapped file", fcntl(fd, F_SETLEASE, F_RDLCK));
	look("lease on a mapped file", fd);
	say("L04 contents: %d", ct_matches(p, 8 * PAGE, 0));
	return 0;
}
