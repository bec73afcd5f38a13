/* SPDX-License-Identifier: MIT */
/* C09: sockets, pipes and cancellation with buffers in mapped memory. */
#include "ct.h"

#include <pthread.h>
#include <sys/socket.h>
#include <sys/uio.h>

#define N 400ul

static int mfd;
static char *map;

/* All pages absent again. */
static void fresh(void)
{
	if (map)
		munmap(map, N * PAGE);
	close(mfd);
	mfd = ct_file("net", N * PAGE);
	map = ct_map(mfd, N * PAGE, RW, MAP_SHARED, 0);
}

static int pair[2];

static void *drain(void *arg)
{
	size_t want = (size_t)arg, got = 0, bad = 0;
	unsigned char b[3000];

	while (got < want) {
		ssize_t r = read(pair[0], b, sizeof(b));

		if (r <= 0)
			break;
		for (ssize_t i = 0; i < r; i++)
			bad += b[i] != ct_byte(got + 17 + (size_t)i);
		got += (size_t)r;
	}
	return (void *)(got + bad * 1000000000);
}

static void stream_out(const char *what, ssize_t (*fn)(int, void *, size_t))
{
	size_t n = 300 * PAGE + 5;
	pthread_t t;
	void *got;
	ssize_t r;

	fresh();
	pthread_create(&t, NULL, drain, (void *)n);
	r = fn(pair[1], map + 17, n);
	pthread_join(t, &got);
	say("C09 %s: %zd, arrived %zu", what, r, (size_t)got);
}

static ssize_t out_write(int fd, void *b, size_t n) { return write(fd, b, n); }
static ssize_t out_send(int fd, void *b, size_t n) { return send(fd, b, n, 0); }
static ssize_t out_msg(int fd, void *b, size_t n)
{
	struct iovec v[2] = { { b, 100 }, { (char *)b + 100, n - 100 } };
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 };

	return sendmsg(fd, &m, 0);
}

static void *feed(void *arg)
{
	size_t n = (size_t)arg;
	unsigned char b[1000];

	for (size_t done = 0; done < n;) {
		size_t k = n - done < sizeof(b) ? n - done : sizeof(b);

		for (size_t i = 0; i < k; i++)
			b[i] = ct_byte(done + i + 999);
		if (write(pair[1], b, k) != (ssize_t)k)
			break;
		done += k;
	}
	return NULL;
}

static void streams_in(void)
{
	size_t n = 200 * PAGE + 3, got = 0;
	pthread_t t;

	fresh();
	pthread_create(&t, NULL, feed, (void *)n);
	say("C09 recv WAITALL: %zd", recv(pair[0], map + 50, n, MSG_WAITALL));
	pthread_join(t, NULL);
	say("C09 data: %d %d", ct_matches(map + 50, n, 999),
	    ct_matches(map + 50 + n, PAGE, 50 + n));
	fresh();
	pthread_create(&t, NULL, feed, (void *)n);
	while (got < n) {
		ssize_t r = read(pair[0], map + 50 + got, n - got);

		if (r <= 0)
			break;
		got += (size_t)r;
	}
	pthread_join(t, NULL);
	say("C09 read in a loop: %zu %d", got, ct_matches(map + 50, n, 999));
	if (write(pair[1], "hello", 5) != 5)
		ct_die("write");
	fresh();
	say("C09 peek: %zd", recv(pair[0], map + PAGE - 2, 100, MSG_PEEK));
	say("C09 short read: %zd", read(pair[0], map + PAGE - 2, 20000));
	say("C09 data: %.5s", map + PAGE - 2);
	say("C09 rest untouched: %d",
	    ct_matches(map + PAGE + 3, PAGE, PAGE + 3));
}

static void datagrams(int type, const char *what)
{
	char control[CMSG_SPACE(sizeof(int))];
	struct iovec v[2];
	struct msghdr m = { .msg_iov = v, .msg_iovlen = 2 }, *mm;
	struct mmsghdr *mv;
	struct cmsghdr *c;
	int sock[2];
	ssize_t r;

	fresh();
	if (socketpair(AF_UNIX, type, 0, sock))
		ct_die("socketpair");
	say("C09 %s send: %zd", what, send(sock[0], map + 10, 5 * PAGE, 0));
	say("C09 %s recv: %zd", what,
	    recv(sock[1], map + 20 * PAGE + 7, 8 * PAGE, 0));
	say("C09 %s data: %d %d", what,
	    ct_matches(map + 20 * PAGE + 7, 5 * PAGE, 10),
	    ct_matches(map + 25 * PAGE + 7, PAGE, 25 * PAGE + 7));
	if (send(sock[0], map + 10, 3 * PAGE, 0) < 0)
		ct_die("send");
	r = recv(sock[1], map + 40 * PAGE - 3, 100, MSG_TRUNC);
	say("C09 %s truncated: %zd %d", what, r,
	    ct_matches(map + 40 * PAGE - 3, 100, 10));

	/* a descriptor, header and control data in mapped memory */
	v[0] = (struct iovec){ map + 50 * PAGE, PAGE };
	v[1] = (struct iovec){ map + 60 * PAGE, 2 * PAGE };
	memset(control, 0, sizeof(control));
	m.msg_control = control;
	m.msg_controllen = sizeof(control);
	c = CMSG_FIRSTHDR(&m);
	c->cmsg_level = SOL_SOCKET;
	c->cmsg_type = SCM_RIGHTS;
	c->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(c), &mfd, sizeof(int));
	mm = (struct msghdr *)(map + 100 * PAGE - 16);
	*mm = m;
	mm->msg_control =
		memcpy(map + 110 * PAGE - 8, control, sizeof(control));
	mm->msg_iov = memcpy(map + 120 * PAGE - 8, v, sizeof(v));
	say("C09 %s sendmsg: %zd", what, sendmsg(sock[0], mm, 0));
	memset(mm->msg_control, 0, sizeof(control));
	mm->msg_iov[0].iov_base = map + 70 * PAGE + 1;
	mm->msg_iov[1].iov_base = map + 80 * PAGE + 1;
	say("C09 %s recvmsg: %zd", what, recvmsg(sock[1], mm, 0));
	c = CMSG_FIRSTHDR(mm);
	say("C09 %s data: %d %d control %d", what,
	    ct_matches(map + 70 * PAGE + 1, PAGE, 50 * PAGE),
	    ct_matches(map + 80 * PAGE + 1, 2 * PAGE, 60 * PAGE),
	    c && c->cmsg_type == SCM_RIGHTS);
	if (c)
		close(*(int *)(void *)CMSG_DATA(c));

	mv = (struct mmsghdr *)(map + 130 * PAGE - 40);
	memset(mv, 0, 3 * sizeof(*mv));
	for (int i = 0; i < 3; i++) {
		struct iovec *one = (struct iovec *)(map + 140 * PAGE) + i;

		*one = (struct iovec){ map + (size_t)(150 + i) * PAGE + 5,
				       700 };
		mv[i].msg_hdr.msg_iov = one;
		mv[i].msg_hdr.msg_iovlen = 1;
	}
	say("C09 %s sendmmsg: %d", what, sendmmsg(sock[0], mv, 3, 0));
	for (int i = 0; i < 3; i++)
		mv[i].msg_hdr.msg_iov->iov_base =
			map + (size_t)(160 + i) * PAGE + 9;
	say("C09 %s recvmmsg: %d", what, recvmmsg(sock[1], mv, 3, 0, NULL));
	for (int i = 0; i < 3; i++)
		say("C09 %s message %d: %u %d", what, i, mv[i].msg_len,
		    ct_matches(map + (size_t)(160 + i) * PAGE + 9, 700,
			       (size_t)(150 + i) * PAGE + 5));
	close(sock[0]);
	close(sock[1]);
}

/* A datagram into memory beyond the end of the file. */
static void beyond(void)
{
	int fd = ct_file("short", 2 * PAGE), sock[2];
	char *p = ct_map(fd, 4 * PAGE, RW, MAP_SHARED, 0);
	ssize_t r;

	if (socketpair(AF_UNIX, SOCK_DGRAM, 0, sock))
		ct_die("socketpair");
	r = send(sock[0], p + PAGE, 2 * PAGE, 0);
	say("C09 send across the end: %zd %s", r, ct_errno(r < 0));
	send(sock[0], "abc", 3, 0);
	r = recv(sock[1], p + PAGE, 3 * PAGE, 0);
	say("C09 short datagram fits: %zd %.3s", r, p + PAGE);
	send(sock[0], "abc", 3, 0);
	r = recv(sock[1], p + 2 * PAGE, PAGE, 0);
	say("C09 recv beyond the end: %zd %s", r, ct_errno(r < 0));
	munmap(p, 4 * PAGE);
	close(fd);
	close(sock[0]);
	close(sock[1]);
}

static void *blocked(void *arg)
{
	ssize_t r = read(*(int *)arg, map + 5, 100000);

	return (void *)(r + 1);
}

/* A cancelled call must leave nothing behind. */
static void cancelled(void)
{
	int p[2], ended = 0;
	ssize_t sent;
	void *ret;

	fresh();
	if (pipe(p))
		ct_die("pipe");
	for (int i = 0; i < 600; i++) {
		pthread_t t;

		pthread_create(&t, NULL, blocked, &p[0]);
		if (i % 20 == 0)
			usleep(1000);
		pthread_cancel(t);
		pthread_join(t, &ret);
		ended += ret == PTHREAD_CANCELED;
	}
	say("C09 cancelled: %d", ended);
	sent = write(p[1], "xyz", 3);
	say("C09 pipe afterwards: %zd %zd", sent,
	    read(p[0], map + PAGE - 1, 100));
	say("C09 data: %.3s", map + PAGE - 1);
	say("C09 write to the file: %zd", pwrite(mfd, map + 9, 2 * PAGE, 0));
	close(p[0]);
	close(p[1]);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	mfd = -1;
	if (pipe(pair))
		ct_die("pipe");
	stream_out("write to a pipe", out_write);
	close(pair[0]);
	close(pair[1]);
	if (socketpair(AF_UNIX, SOCK_STREAM, 0, pair))
		ct_die("socketpair");
	stream_out("write to a stream", out_write);
	stream_out("send", out_send);
	stream_out("sendmsg", out_msg);
	streams_in();
	datagrams(SOCK_DGRAM, "datagram");
	datagrams(SOCK_SEQPACKET, "seqpacket");
	beyond();
	cancelled();
	return 0;
}
