/* SPDX-License-Identifier: MIT */
/*
 * C49: another process has our file open, or opens it when we have sent word.
 * We store through a mapping and send it word; what it then reads, or sees in a
 * mapping of its own, is what we stored. And what it stores through a mapping
 * before it answers is what we see.
 */
#include "peers.h"

#include <sys/wait.h>

#define PAGES 16
#define ROUNDS 32
#define TURNS 6
#define END 60 /* descriptor of the other process */

static const char *self, *path;

/* FILE HOW: answers each offset with the byte that is there, and stores the
 * next letter behind it if it is to store. */
static void reader_role(int argc, char **argv)
{
	volatile char *m = NULL;
	size_t off = 0;
	bool stores;
	char c;
	int fd;

	if (argc < 5 || strcmp(argv[2], "reader"))
		return;
	stores = argv[4][0] == 's';
	fd = open(argv[3], stores ? O_RDWR : O_RDONLY);
	if (fd < 0)
		_exit(1);
	if (argv[4][0] == 'o')
		close(fd);
	else if (argv[4][0] != 'r')
		m = ct_map(fd, PAGES * PAGE, stores ? RW : PROT_READ,
			   MAP_SHARED, 0);
	if (write(END, "r", 1) != 1)
		_exit(2);
	while (read(END, &off, sizeof(off)) == sizeof(off)) {
		if (argv[4][0] == 'o')
			fd = open(argv[3], O_RDONLY);
		if (m)
			c = m[off];
		else if (pread(fd, &c, 1, (off_t)off) != 1)
			_exit(3);
		if (argv[4][0] == 'o')
			close(fd);
		if (stores)
			m[off + 1] = (char)(c + 1);
		if (write(END, &c, 1) != 1)
			_exit(4);
	}
	_exit(0);
}

static pid_t start(const char *how, bool native, int *ret_end)
{
	char *argv[] = { (char *)self, ct_dir, "reader", (char *)path,
			 (char *)how, NULL };
	pid_t pid;
	int s[2];
	char c;

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s))
		ct_die("socketpair");
	pid = peer_spawn(argv, s[1], END, native);
	if (read(s[0], &c, 1) != 1)
		ct_die("no reader");
	*ret_end = s[0];
	return pid;
}

static bool ask(int end, size_t off, int way, char *ret)
{
	bool ok = way % 2 ? send(end, &off, sizeof(off), 0) == sizeof(off) :
			    write(end, &off, sizeof(off)) == sizeof(off);

	return ok && read(end, ret, 1) == 1;
}

/* A new file each time: one that has been handed over proves nothing. */
static int one(int round)
{
	const char *how = (const char *[]){ "r", "m", "s", "o" }[round % 4];
	int fd = peer_file("f", PAGES * PAGE), end, stale = 0;
	volatile char *m = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	pid_t pid;

	close(fd);
	for (size_t p = 0; p < PAGES; p++)
		m[p * PAGE] = 1;
	pid = start(how, round / 4 & 1, &end);
	for (int t = 0; t < TURNS; t++) {
		size_t off = (size_t)(round + t) % PAGES * PAGE + 7;
		char got = 0, want = (char)('A' + t);

		m[off] = want;
		if (!ask(end, off, t, &got))
			ct_die("no answer");
		stale += got != want;
		stale += *how == 's' && m[off + 1] != want + 1;
		if (round / 8 & 1)
			usleep(3000);
	}
	close(end);
	waitpid(pid, NULL, 0);
	munmap((void *)m, PAGES * PAGE);
	return stale;
}

int main(int argc, char **argv)
{
	int stale = 0;

	ct_begin(argc, argv);
	reader_role(argc, argv);
	self = argv[0];
	path = strdup(ct_path("f"));
	for (int r = 0; r < ROUNDS; r++)
		stale += one(r);
	say("C49 stale %d", stale);
	return 0;
}
