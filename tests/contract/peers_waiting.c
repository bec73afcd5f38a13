/* SPDX-License-Identifier: MIT */
/*
 * C64: a thread waits for word since before any file was mapped. Another thread
 * maps one and looks at it, another process writes to it and sends the word:
 * what it wrote is there when the first thread has it.
 */
#include "peers.h"

#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define PAGES 16
#define ROUNDS 30
#define WORD 60 /* descriptor of the other process */

enum way { READ, READV, RECV, POLL, GETC, FGETS, FREAD, WAYS };

struct wait {
	enum way way;
	int sock;
	volatile char *_Atomic m;
	int value;
};

static const char *self, *path;

/* The other process: one byte for each that comes. */
static void write_role(int argc, char **argv)
{
	unsigned char c;
	int fd;

	if (argc < 4 || strcmp(argv[2], "write"))
		return;
	while (read(WORD, &c, 1) == 1) {
		fd = open(argv[3], O_WRONLY);
		if (fd < 0 || pwrite(fd, &c, 1, 5 * PAGE) != 1)
			_exit(1);
		close(fd);
		if (write(WORD, "go!\n", 4) != 4)
			_exit(2);
	}
	_exit(0);
}

static void hear(enum way way, int sock)
{
	struct pollfd p = { .fd = sock, .events = POLLIN };
	FILE *fp = way >= GETC ? fdopen(dup(sock), "r") : NULL;
	char line[8];
	struct iovec v = { line, 4 };

	if (way == READ && read(sock, line, 4) == 4)
		return;
	if (way == READV && readv(sock, &v, 1) == 4)
		return;
	if (way == RECV && recv(sock, line, 4, 0) == 4)
		return;
	if (way == POLL && poll(&p, 1, -1) == 1)
		return;
	if (way == GETC && getc(fp) == 'g')
		return;
	if (way == FGETS && fgets(line, sizeof(line), fp))
		return;
	if (way == FREAD && fread(line, 4, 1, fp) == 1)
		return;
	ct_die("word");
}

static void *waiter(void *arg)
{
	struct wait *w = arg;

	hear(w->way, w->sock);
	w->value = atomic_load(&w->m)[5 * PAGE];
	return NULL;
}

/* Nothing is mapped at its beginning and its end. */
static bool round_of(enum way way, int sock, unsigned char c)
{
	int fd = open(path, O_RDWR | O_CLOEXEC);
	struct wait w = { .way = way, .sock = sock };
	volatile char *m;
	char rest[8];
	pthread_t t;

	if (pthread_create(&t, NULL, waiter, &w))
		ct_die("pthread_create");
	usleep(2000);
	m = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	for (int i = 0; i < PAGES; i++)
		ct_load(m + i * PAGE);
	atomic_store(&w.m, m);
	if (write(sock, &c, 1) != 1)
		ct_die("write");
	pthread_join(t, NULL);
	munmap((void *)m, PAGES * PAGE);
	close(fd);
	if (way == POLL && recv(sock, rest, 4, 0) != 4)
		ct_die("recv");
	return w.value == c;
}

int main(int argc, char **argv)
{
	static const char *const names[] = { "read", "readv", "recv", "poll",
					     "getc", "fgets", "fread" };
	char *args[] = { argv[0], ct_dir, "write", NULL, NULL };
	int s[2], status;
	pid_t pid;

	ct_begin(argc, argv);
	write_role(argc, argv);
	self = argv[0];
	path = strdup(ct_path("f"));
	for (int way = 0; way < WAYS; way++) {
		int old = 0;

		close(peer_file("f", PAGES * PAGE));
		if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s))
			ct_die("socketpair");
		args[3] = (char *)path;
		pid = peer_spawn(args, s[1], WORD, true);
		for (int i = 0; i < ROUNDS; i++)
			old += !round_of(way, s[0], (unsigned char)(i + 1));
		shutdown(s[0], SHUT_RDWR);
		close(s[0]);
		waitpid(pid, &status, 0);
		say("C64 %s: old %d, the other one ended with %d", names[way],
		    old, status);
	}
	return 0;
}
