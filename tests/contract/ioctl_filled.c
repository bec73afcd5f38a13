/* SPDX-License-Identifier: MIT */
/* C85f: what an ioctl fills cannot be memory that may only be read; what it
 * only reads can, and is not touched. */
#include "ct.h"

#include <linux/fs.h>
#include <net/if.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <termios.h>

#define PAGES 64ul
#define ROUNDS 30000

static int file, pipes[2], sock, pty;

/* FIONREAD has its number by its name of terminals. */
static const struct request {
	const char *name;
	unsigned long req;
	int *fd;
	bool text; /* begins with the name of an interface */
} requests[] = {
	{ "GETFLAGS", FS_IOC_GETFLAGS, &file, false },
	{ "GETVERSION", FS_IOC_GETVERSION, &file, false },
	{ "FSGETXATTR", FS_IOC_FSGETXATTR, &file, false },
	{ "GETFSLABEL", FS_IOC_GETFSLABEL, &file, false },
	{ "FIGETBSZ", FIGETBSZ, &file, false },
	{ "FIOQSIZE", FIOQSIZE, &file, false },
	{ "FIONREAD", FIONREAD, &file, false },
	{ "FIONREAD of a pipe", FIONREAD, &pipes[0], false },
	{ "FIONBIO", FIONBIO, &pipes[0], false },
	{ "FIOASYNC", FIOASYNC, &pipes[0], false },
	{ "SIOCATMARK", 0x8905, &sock, false },
	{ "SIOCGPGRP", 0x8904, &sock, false },
	{ "SIOCGIFFLAGS", 0x8913, &sock, true },
	{ "SIOCGIFINDEX", 0x8933, &sock, true },
	{ "TIOCGWINSZ", TIOCGWINSZ, &pty, false },
	{ "TIOCSWINSZ", TIOCSWINSZ, &pty, false },
	{ "TIOCOUTQ", TIOCOUTQ, &pty, false },
	{ "TCGETS", TCGETS, &pty, false },
	{ "TCSETS", TCSETS, &pty, false },
};
#define N (sizeof(requests) / sizeof(*requests))

static void others(char *p)
{
	char *at = p + PAGES * PAGE - 16;

	say_rc("C85f F_SETLK", fcntl(file, F_SETLK, p + 60 * PAGE));
	say_rc("C85f F_GETLK", fcntl(file, F_GETLK, p + 58 * PAGE));
	say_rc("C85f F_GETOWN_EX", fcntl(pipes[0], F_GETOWN_EX, p + 56 * PAGE));
	say_rc("C85f F_SETLK, half behind", fcntl(file, F_SETLK, at));
	say_rc("C85f F_GETLK, half behind", fcntl(file, F_GETLK, at));
}

/* Half of the answer lies behind, and it is zeros, which are there already: who
 * stores what has changed stores nothing. What is not filled does not fail. */
static void zeros(char *p)
{
	char *at = p + PAGES * PAGE - 16, *word = p + PAGES * PAGE - 4;
	const struct timespec now = { 0, 0 };
	int t = timerfd_create(CLOCK_MONOTONIC, 0);

	say_rc("C85f getitimer, half behind",
	       getitimer(ITIMER_REAL, (void *)at));
	say_rc("C85f getitimer by number, half behind",
	       syscall(SYS_getitimer, ITIMER_REAL, at));
	say_rc("C85f timerfd_gettime, half behind",
	       timerfd_gettime(t, (void *)at));
	say_rc("C85f rt_sigpending, half behind",
	       syscall(SYS_rt_sigpending, word, 8));
	say_rc("C85f nanosleep, half behind",
	       nanosleep(&now, (void *)(at + 8)));
	close(t);
}

/* In read-only memory of the file, never touched before; then in ordinary
 * memory behind it, half of it. */
static void answers(const char *where, int fd, int prot, bool by_number)
{
	char *gap = ct_map(-1, (PAGES + 1) * PAGE, PROT_READ,
			   MAP_PRIVATE | MAP_ANONYMOUS, 0);
	char *p = mmap(gap, PAGES * PAGE, prot, MAP_SHARED | MAP_FIXED, fd, 0),
	     *at;

	if (p == MAP_FAILED)
		ct_die("mmap");
	say("C85f %s", where);
	for (size_t i = 0; i < N; i++) {
		const struct request *q = &requests[i];
		int r;

		at = p + (2 * i + 1) * PAGE;
		r = by_number ? (int)syscall(SYS_ioctl, *q->fd, q->req, at)
			      : ioctl(*q->fd, q->req, at);
		say("C85f %s, %s: %s", q->name, where, ct_errno(r < 0));
		at = p + PAGES * PAGE - (q->text ? 20 : 2);
		r = ioctl(*q->fd, q->req, at);
		say("C85f %s, %s, half behind: %s", q->name, where,
		    ct_errno(r < 0));
	}
	others(p);
	zeros(p);
	munmap(gap, (PAGES + 1) * PAGE);
}

/* Zeros; every page and the end of the last have a name for those that want
 * one. */
static int arguments(void)
{
	static char page[PAGE];
	int fd = open(ct_path("args"), O_RDWR | O_CREAT, 0644);

	for (size_t i = 0; i < PAGES; i++) {
		bool text = i % 2 && i / 2 < N && requests[i / 2].text;

		memcpy(page, text ? "lo\0" : "\0\0\0", 3);
		memcpy(page + PAGE - 20, "lo", 3);
		ct_pwrite(fd, page, PAGE, (off_t)(i * PAGE));
	}
	return fd;
}

/* ---- what is only read ------------------------------------------------------
 */

static _Atomic int *word;
static _Atomic bool end;

static void *ask(void *arg)
{
	(void)arg;
	for (int i = 0; i < ROUNDS; i++)
		ioctl(pipes[1], FIONBIO, word);
	end = true;
	return NULL;
}

/* Nobody else stores there. */
static void stores(int fd)
{
	char *p = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	pthread_t t;
	int lost = 0;

	word = (_Atomic int *)(void *)(p + 5 * PAGE);
	*word = 0;
	if (pthread_create(&t, NULL, ask, NULL))
		ct_die("pthread_create");
	for (int i = 1; !end; i++) {
		*word = i;
		for (int spin = 0; spin < 300; spin++)
			if (*word != i) {
				lost++;
				break;
			}
	}
	pthread_join(t, NULL);
	say("C85f stores lost to a call that only reads: %d", lost > 0);
	munmap(p, PAGES * PAGE);
}

int main(int argc, char **argv)
{
	struct winsize w = { .ws_row = 7 };
	int fd;

	ct_begin(argc, argv);
	file = ct_file("other", 3 * PAGE);
	fd = arguments();
	sock = socket(AF_INET, SOCK_STREAM, 0);
	pty = posix_openpt(O_RDWR | O_NOCTTY);
	if (pipe(pipes) || sock < 0 || pty < 0)
		ct_skip("no pipe, socket or terminal here");
	ioctl(pty, TIOCSWINSZ, &w);
	answers("read-only", fd, PROT_READ, false);
	answers("read-only, by number", fd, PROT_READ, true);
	answers("writable", fd, RW, false);
	stores(fd);
	return 0;
}
