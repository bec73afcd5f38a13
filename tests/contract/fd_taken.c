/* SPDX-License-Identifier: MIT */
/*
 * F5w: a program closes descriptors that it has not opened, by system call
 * instructions of its own, and has something of its own under these numbers:
 * a file, which nobody writes to, and a socket, at which nobody else accepts
 * or reads. A child of fork has them, too.
 */
/* env: FASTMAP_TRACE={own}/fastmap-contract-trace */
/* env: FASTMAP_SOCKET={own}/%p.sock */
#include "ct.h"

#include <dirent.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/un.h>

#define N 6144ul

static int found[1024], n;

/* Descriptors whose link in /proc contains one of these. */
static void look_for(const char *what)
{
	DIR *d = opendir("/proc/self/fd");
	struct dirent *e;
	char link[300], to[PATH_MAX];

	while (d && (e = readdir(d))) {
		ssize_t len;

		snprintf(link, sizeof(link), "/proc/self/fd/%s", e->d_name);
		len = readlink(link, to, sizeof(to) - 1);
		to[len > 0 ? len : 0] = 0;
		if (atoi(e->d_name) > 2 && atoi(e->d_name) != dirfd(d) &&
		    strstr(to, what))
			found[n++] = atoi(e->d_name);
	}
	if (d)
		closedir(d);
}

static void take(int mine)
{
	for (int i = 0; i < n; i++)
		if (ct_raw(SYS_dup2, mine, found[i], 0, 0) != found[i])
			ct_die("dup2");
}

static void inherited(void)
{
	int gone = 0;

	for (int i = 0; i < n; i++)
		gone += ct_raw(SYS_fcntl, found[i], F_GETFD, 0, 0) < 0;
	say("F5w gone in a child: %d", gone);
}

static char *touched(const char *name)
{
	int fd = ct_file(name, N * PAGE);
	char *p = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);

	close(fd);
	say("F5w %s: %zu wrong", name, ct_wrong(p, 0, 8));
	return p;
}

/* Faults enough that a trace of them is written. */
static void a_file(void)
{
	char *p = touched("file"), buf[PAGE];
	int own, mine;
	size_t wrong = 0;

	mine = ct_file("mine", 16 * PAGE);
	lseek(mine, 0, SEEK_SET);
	look_for("fastmap-contract-trace");
	look_for("fastmap-peers");
	take(mine);
	say("F5w the rest: %zu wrong", ct_wrong(p, 8, N));
	for (size_t i = 0; i < N; i++) {
		size_t at = i * 2503 % N;

		wrong += ct_wrong(p, at, at + 1);
	}
	for (size_t i = 0; i < N; i++)
		p[i * PAGE + 7] = 1;
	own = open(ct_path("file"), O_RDWR);
	say("F5w another mapping: %c", *touched("second") ? 'y' : 'n');
	say_child("a child", inherited);
	for (size_t i = 0; i < 16; i++)
		wrong += pread(mine, buf, PAGE, (off_t)(i * PAGE)) != PAGE ||
			 !ct_matches(buf, PAGE, i * PAGE);
	say("F5w of its own: %zu wrong, at %ld, %ld bytes", wrong,
	    (long)lseek(mine, 0, SEEK_CUR), (long)lseek(mine, 0, SEEK_END));
	close(own);
	close(mine);
}

static void a_socket(void)
{
	struct sockaddr_un at = { .sun_family = AF_UNIX };
	int mine = socket(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK, 0), other, got;
	char *p = touched("third");

	usleep(300000);
	look_for("socket:");
	for (int i = 0; i < n; i++)
		if (found[i] == mine)
			found[i] = found[--n];
	snprintf(at.sun_path, sizeof(at.sun_path), "mine.sock");
	if (bind(mine, (void *)&at, sizeof(at)) || listen(mine, 3))
		ct_die("socket");
	take(mine);
	other = socket(AF_UNIX, SOCK_STREAM, 0);
	if (connect(other, (void *)&at, sizeof(at)))
		ct_die("connect");
	usleep(1500000); /* the control thread looks once a second */
	got = accept(mine, NULL, NULL);
	say("F5w accepted: %s", ct_errno(got < 0));
	p[0] = 1;
	say_child("a child", inherited);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	say_child("a socket", a_socket);
	a_file();
	return 0;
}
