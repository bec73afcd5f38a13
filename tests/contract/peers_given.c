/* SPDX-License-Identifier: MIT */
/*
 * C60: we send another process the descriptor of a file that we have mapped. It
 * maps it without ever opening it, closes it, and both store by turns. C61: we
 * map it after we have sent it, before it is received: it is in nobody's table
 * of descriptors then.
 */
#include "given.h"

#include <signal.h>
#include <sys/syscall.h>
#include <sys/wait.h>

static const char *self;

/* ---- the other process -------------------------------------------------- */

static int receive(int end)
{
	char control[CMSG_SPACE(2 * sizeof(int))], c;
	struct iovec iov = { &c, 1 };
	struct msghdr m = { .msg_iov = &iov,
			    .msg_iovlen = 1,
			    .msg_control = control,
			    .msg_controllen = sizeof(control) };
	struct cmsghdr *h;
	int fd[2];

	if (recvmsg(end, &m, 0) != 1)
		_exit(3);
	h = CMSG_FIRSTHDR(&m);
	if (!h || h->cmsg_type != SCM_RIGHTS ||
	    h->cmsg_len != CMSG_LEN(sizeof(fd)))
		_exit(4);
	memcpy(fd, CMSG_DATA(h), sizeof(fd));
	close(fd[0]);
	return fd[1];
}

static void given_role(int argc, char **argv)
{
	if (argc < 4 || strcmp(argv[2], "given"))
		return;
	if (argv[3][1] == 's')
		raise(SIGSTOP);
	given_turns(receive(END), *argv[3] == 'w');
}

/* ---- we ---------------------------------------------------------------- */

/* The second of two descriptors; the header at `control`, which may be
 * mapped. */
static void send_it(int end, int fd, char *control, bool many, bool number)
{
	long r;

	int both[2] = { STDIN_FILENO, fd };
	struct iovec iov = { "f", 1 };
	struct mmsghdr v = { .msg_hdr = {
		.msg_iov = &iov, .msg_iovlen = 1, .msg_control = control,
		.msg_controllen = CMSG_SPACE(sizeof(both)) } };
	struct cmsghdr *h = CMSG_FIRSTHDR(&v.msg_hdr);

	h->cmsg_level = SOL_SOCKET;
	h->cmsg_type = SCM_RIGHTS;
	h->cmsg_len = CMSG_LEN(sizeof(both));
	memcpy(CMSG_DATA(h), both, sizeof(both));
	if (number)
		r = many ? syscall(SYS_sendmmsg, end, &v, 1, 0) :
			   syscall(SYS_sendmsg, end, &v.msg_hdr, 0);
	else
		r = many ? sendmmsg(end, &v, 1, 0)
			 : sendmsg(end, &v.msg_hdr, 0);
	if (r != 1)
		ct_die("send");
}

/* how: 1 we keep it open, 2 the other only reads, 4 by sendmmsg, 8 the header
 * of the message lies in the mapping, 16 it is mapped when it has been sent, 32
 * by number */
static void one(int how)
{
	const bool stores = !(how & 2), early = how & 16;
	char role[] = { stores ? 'w' : 'r', early ? 's' : 0, 0 };
	char *argv[] = { (char *)self, ct_dir, "given", role, NULL };
	char ordinary[CMSG_SPACE(2 * sizeof(int))] = { 0 };
	int s[2], fd = peer_file("f", PAGES * PAGE), sent;
	unsigned char *m;
	pid_t pid;

	fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s))
		ct_die("socketpair");
	pid = peer_spawn(argv, s[1], END, true);
	sent = stores ? dup(fd) : open(ct_path("f"), O_RDONLY | O_CLOEXEC);
	if (early) {
		waitpid(pid, NULL, WUNTRACED);
		send_it(s[0], sent, ordinary, how & 4, how & 32);
		close(sent);
	}
	m = (void *)ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	for (int i = 0; i < PAGES; i++)
		m[i * PAGE] = 1;
	if (!early) {
		send_it(s[0], sent,
			how & 8 ? (char *)m + (PAGES - 1) * PAGE + 64
				: ordinary,
			how & 4, how & 32);
		close(sent);
	}
	if (!(how & 1))
		close(fd);
	if (early)
		kill(pid, SIGCONT);
	turns(m, s[0], stores);
	munmap(m, PAGES * PAGE);
	close(s[0]);
	waitpid(pid, NULL, 0);
	if (how & 1)
		close(fd);
	check(stores);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	given_role(argc, argv);
	self = argv[0];
	for (int how = 0; how < 16; how++)
		one(how);
	one(32);
	one(36);
	say("C60 old %d, lost %d", old, lost);
	old = lost = 0;
	for (int how = 16; how < 24; how++)
		one(how);
	one(48);
	one(52);
	say("C61 old %d, lost %d", old, lost);
	return 0;
}
