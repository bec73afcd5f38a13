/* SPDX-License-Identifier: MIT */
/*
 * C53: another process comes for a moment: it opens our file, maps it, stores,
 * and has closed it all again before it sends word or ends. It sees what we
 * stored before it came, and we what it stored; beside it we store to the same
 * page.
 */
#include "peers.h"

#include <sched.h>
#include <stdatomic.h>
#include <sys/wait.h>

#define PAGES 16
#define END 60 /* descriptor of the other process */
#define AT (5 * PAGE)

static const char *self, *path;
static int old, unseen, lost;

/* One more at AT, and what is beside it. */
static unsigned char visit(const char *file, bool stay)
{
	int fd = open(file, O_RDWR);
	volatile unsigned char *m;
	unsigned char beside;

	if (fd < 0)
		_exit(1);
	m = (void *)ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	beside = m[AT + 1];
	m[AT]++;
	if (stay)
		return beside;
	close(fd);
	munmap((void *)m, PAGES * PAGE);
	return beside;
}

/* FILE: a visit for each byte that comes, or at once. */
static void visitor_role(int argc, char **argv)
{
	unsigned char c;

	if (argc < 5 || strcmp(argv[2], "visitor"))
		return;
	if (*argv[4] == 'o')
		_exit(visit(argv[3], false));
	while (read(END, &c, 1) == 1) {
		c = visit(argv[3], false);
		if (write(END, &c, 1) != 1)
			_exit(2);
	}
	_exit(0);
}

static pid_t start(const char *how, int *ret_end)
{
	char *argv[] = { (char *)self, ct_dir, "visitor", (char *)path,
			 (char *)how, NULL };
	int s[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s))
		ct_die("socketpair");
	*ret_end = s[0];
	return peer_spawn(argv, s[1], END, true);
}

static unsigned char by_word(int end)
{
	unsigned char c = 'g';

	if (write(end, &c, 1) != 1 || read(end, &c, 1) != 1)
		ct_die("no answer");
	return c;
}

static unsigned char by_death(void)
{
	int status, end;
	pid_t pid = start("once", &end);

	close(end);
	waitpid(pid, &status, 0);
	return (unsigned char)WEXITSTATUS(status);
}

static int visits(void *arg CT_UNUSED)
{
	return visit(path, false);
}

static unsigned char by_fork(void)
{
	return (unsigned char)ct_child(visits, NULL);
}

/* A child of fork that says so in memory, and stays. */
static unsigned char by_silence(void)
{
	static _Atomic int *said;
	pid_t pid;
	int c;

	if (!said)
		said = mmap(NULL, PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	atomic_store(said, 0);
	pid = fork();
	if (pid == 0) {
		atomic_store(said, 1 + visit(path, true));
		for (;;)
			pause();
	}
	while (!(c = atomic_load(said)))
		sched_yield();
	kill(pid, SIGKILL); /* waited for in the end */
	return (unsigned char)(c - 1);
}

static unsigned char one(int how, int end)
{
	switch (how) {
	case 'w':
		return by_word(end);
	case 'd':
		return by_death();
	case 'f':
		return by_fork();
	}
	return by_silence();
}

/* We store, or only look. A new file each time: one that has been handed over
 * proves nothing. */
static void turns(int how, bool stores, int n, int gap_us)
{
	int fd = peer_file("f", PAGES * PAGE), end = -1;
	volatile unsigned char *m;
	unsigned char was, beside;

	fcntl(fd, F_SETFD, FD_CLOEXEC);
	if (how == 'w')
		start("word", &end);
	was = (unsigned char)ct_in_file(fd, AT);
	if (!stores) {
		close(fd);
		fd = open(path, O_RDONLY);
	}
	m = (void *)ct_map(fd, PAGES * PAGE, stores ? RW : PROT_READ,
			   MAP_SHARED, 0);
	close(fd);
	for (int t = 1; t <= n; t++) {
		if (m[AT] != (unsigned char)(was + t - 1))
			old++;
		if (stores)
			m[AT + 1] = (unsigned char)(t + 64);
		beside = one(how, end);
		unseen += stores && beside != t + 64;
		if (gap_us)
			usleep((unsigned)gap_us);
	}
	old += m[AT] != (unsigned char)(was + n);
	if (end >= 0)
		close(end);
	while (waitpid(-1, NULL, 0) > 0)
		;
	munmap((void *)m, PAGES * PAGE);
	fd = open(path, O_RDONLY);
	lost += ct_in_file(fd, AT) != (unsigned char)(was + n);
	close(fd);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	visitor_role(argc, argv);
	self = argv[0];
	path = strdup(ct_path("f"));
	for (int k = 0; k < 32; k++)
		turns("wdfs"[k % 4], k / 4 & 1, k % 4 ? 4 : 12,
		      k / 8 & 1 ? 3000 : 0);
	say("C53 old %d, unseen %d, lost %d", old, unseen, lost);
	return 0;
}
