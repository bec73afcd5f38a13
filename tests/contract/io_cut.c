/* SPDX-License-Identifier: MIT */
/* C09: a file is cut while its mapping is sent to a socket, and received into:
 * the call ends with EFAULT or sends what is left of it. It is not the end of
 * the program. */
#include "ct.h"

#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define LEN (1024 * PAGE)
#define ROUNDS 300

static int fd, s[2];
static char *map;
static _Atomic bool stop;

static void *cut_and_grow(void *unused)
{
	for (int i = 0; !stop; i++) {
		if (ftruncate(fd, i & 1 ? (off_t)LEN : (off_t)(3 * PAGE + 5)))
			ct_die("ftruncate");
		usleep(50 + (unsigned)i * 7 % 300);
	}
	return unused;
}

static void *drain(void *unused)
{
	static char buf[1 << 20];

	while (read(s[1], buf, sizeof(buf)) > 0)
		;
	return unused;
}

static void *fill(void *unused)
{
	static char buf[1 << 20];

	while (!stop && send(s[1], buf, sizeof(buf), MSG_NOSIGNAL) > 0)
		;
	return unused;
}

static ssize_t out(struct iovec *v)
{
	return writev(s[0], v, 1);
}

static ssize_t in(struct iovec *v)
{
	return readv(s[0], v, 1);
}

static void run(const char *what, ssize_t (*call)(struct iovec *),
		void *(*other_end)(void *))
{
	unsigned odd = 0;
	pthread_t a, b;

	if (socketpair(AF_UNIX, SOCK_STREAM, 0, s))
		ct_die("socketpair");
	stop = false;
	pthread_create(&a, NULL, cut_and_grow, NULL);
	pthread_create(&b, NULL, other_end, NULL);
	for (int i = 0; i < ROUNDS; i++) {
		struct iovec v = { map, 200 * PAGE };
		ssize_t n = call(&v);

		odd += n < 0 ? errno != EFAULT
			     : n == 0 || n > 200 * (ssize_t)PAGE;
	}
	stop = true;
	pthread_join(a, NULL);
	shutdown(s[0], SHUT_RDWR);
	pthread_join(b, NULL);
	close(s[0]);
	close(s[1]);
	say("C09 %s: neither bytes nor EFAULT: %u", what, odd);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	fd = ct_file("f", LEN);
	map = ct_map(fd, LEN, RW, MAP_SHARED, 0);
	run("sent", out, drain);
	run("received", in, fill);
	return 0;
}
