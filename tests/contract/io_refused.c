/* SPDX-License-Identifier: MIT */
/*
 * F05: what is received into memory that may only be read is EFAULT, and is
 * there still for the next who asks.
 */
#include "ct.h"

#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/uio.h>

static char *map;

static int waiting(int fd)
{
	int n = -1;

	ioctl(fd, FIONREAD, &n);
	return n;
}

static void report(const char *what, ssize_t r, int from, int to)
{
	char rest[64] = "";
	int err = r < 0 ? errno : 0, n = waiting(from);

	if (n > 0 && read(from, rest, sizeof(rest) - 1) < 0)
		ct_die("read");
	say("F05 %s: %zd errno %d, then %d there: %s", what, r, err, n, rest);
	if (write(to, "01234567", 8) != 8)
		ct_die("write");
}

/* How much of it is told is the kernel's to choose; none of it is lost. */
static void both(const char *name, ssize_t r, int from)
{
	char rest[8];
	int n = waiting(from);

	if (n > 0 && read(from, rest, sizeof(rest)) != n)
		ct_die("read");
	say("F05 %s, the second of two buffers: %zd bytes", name,
	    (r > 0 ? r : 0) + n);
}

/* `map` is only read, of which pages are there, and others are not. */
static void ask(const char *name, int from, int to)
{
	char four[4];
	struct iovec v[2] = { { four, 4 }, { map + PAGE, 4 } };
	char what[64];

	if (write(to, "01234567", 8) != 8)
		ct_die("write");
	for (unsigned long k = 0; k < 3; k++) {
		snprintf(what, sizeof(what), "%s, page %lu", name, k);
		report(what, read(from, map + k * PAGE, 8), from, to);
	}
	snprintf(what, sizeof(what), "%s, over the end of a page", name);
	report(what, read(from, map + 3 * PAGE - 4, 8), from, to);
	both(name, readv(from, v, 2), from);
}

int main(int argc, char **argv)
{
	int fd, p[2], s[2];

	ct_begin(argc, argv);
	fd = ct_file("f", 8 * PAGE);
	map = ct_map(fd, 8 * PAGE, PROT_READ, MAP_SHARED, 0);
	say("F05 byte %d", map[0] + map[2 * PAGE]);
	if (pipe(p) || socketpair(AF_UNIX, SOCK_STREAM, 0, s))
		ct_die("pipe");
	ask("pipe", p[0], p[1]);
	ask("socket", s[0], s[1]);
	return 0;
}
