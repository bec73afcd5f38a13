/* SPDX-License-Identifier: MIT */
/* F03: what has been put into a pipe (vmsplice) or a socket (MSG_ZEROCOPY) by
 * reference is the file's bytes when it comes out, whatever we did in between.
 */
#include "ct.h"

#include <netinet/in.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define N 64ul
#define STACK (256ul << 10)

#ifndef SO_ZEROCOPY
#define SO_ZEROCOPY 60
#endif
#ifndef MSG_ZEROCOPY
#define MSG_ZEROCOPY 0x4000000
#endif

static char got[16 * PAGE];

__attribute__((noinline)) static void use_the_stack(void)
{
	char room[STACK];

	for (size_t i = 0; i < STACK; i += 64)
		((volatile char *)room)[i] = (char)(i >> 6);
}

static size_t take(int fd, size_t want)
{
	size_t n = 0;
	ssize_t r;

	while (n < want && (r = read(fd, got + n, want - n)) > 0)
		n += (size_t)r;
	return n;
}

static void by_pipe(char *p, size_t bytes)
{
	struct iovec v = { p + 3 * PAGE + 5, bytes };
	int ends[2];
	size_t came;
	ssize_t n;

	if (pipe(ends))
		ct_die("pipe");
	n = vmsplice(ends[1], &v, 1, 0);
	use_the_stack();
	came = take(ends[0], bytes);
	say("F03 pipe, %zu: %zd %zu %d", bytes, n, came,
	    ct_matches(got, bytes, 3 * PAGE + 5));
	close(ends[0]);
	close(ends[1]);
}

static int connected(int ends[2])
{
	struct sockaddr_in a = { .sin_family = AF_INET };
	int l = socket(AF_INET, SOCK_STREAM, 0), one = 1;
	socklen_t len = sizeof(a);

	a.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
	ends[1] = socket(AF_INET, SOCK_STREAM, 0);
	if (bind(l, (void *)&a, len) || listen(l, 1) ||
	    getsockname(l, (void *)&a, &len) ||
	    connect(ends[1], (void *)&a, len))
		return -1;
	ends[0] = accept(l, NULL, NULL);
	close(l);
	return setsockopt(ends[1], SOL_SOCKET, SO_ZEROCOPY, &one, sizeof(one));
}

/* Into a queue that nobody empties yet. */
static void by_socket(char *p, size_t bytes)
{
	size_t sent = 0, bad = 0;
	int ends[2];
	ssize_t n;

	if (connected(ends)) {
		say("F03 socket: none");
		return;
	}
	while ((n = send(ends[1], p + 5 * PAGE, bytes,
			 MSG_ZEROCOPY | MSG_DONTWAIT)) > 0)
		sent += (size_t)n;
	use_the_stack();
	shutdown(ends[1], SHUT_WR);
	for (size_t at = 0; at < sent; at += bytes) {
		size_t want = sent - at < bytes ? sent - at : bytes;

		bad += take(ends[0], want) != want ||
		       !ct_matches(got, want, 5 * PAGE);
	}
	say("F03 socket, %zu: %d sent, %zu bad", bytes, sent > 0, bad);
	close(ends[0]);
	close(ends[1]);
}

int main(int argc, char **argv)
{
	int fd;
	char *p;

	ct_begin(argc, argv);
	fd = ct_file("f", N * PAGE);
	p = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);
	for (size_t bytes = 700; bytes <= 12 * PAGE; bytes *= 3)
		by_pipe(p, bytes);
	by_socket(p, 1000);
	by_socket(p, PAGE);
	by_socket(p, 3 * PAGE);
	return 0;
}
