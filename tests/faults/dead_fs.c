/* SPDX-License-Identifier: MIT */
/*
 * dead_fs.c - who serves a file system dies while a file of it is mapped
 * (C23k). DIR is a failing_fs.
 */
#include "../contract/ct.h"

#include <pthread.h>
#include <sys/syscall.h>

#define SIZE (1ul << 20)

static char *p;

static void command(const char *word)
{
	int c = open(ct_path("control"), O_WRONLY);

	if (c < 0)
		ct_die("control");
	if (write(c, word, strlen(word)) < 0 && errno != ENOTCONN &&
	    errno != ECONNABORTED)
		ct_die(word);
	close(c);
}

/* A second try is a try. */
static void fails(const char *what, size_t page, bool write)
{
	for (int i = 0; i < 3; i++) {
		char *at = p + page * PAGE + 5;
		int r = write ? ct_store(at, 1) : ct_load(at);

		say("C23k %s: %s, si_addr right: %d", what,
		    r == -SIGBUS ? "SIGBUS" : "no SIGBUS",
		    r < 0 && ct_fault_addr == at);
		usleep(i * 100000);
	}
}

static void *reader(void *arg)
{
	size_t n = 0, from = (size_t)(uintptr_t)arg;

	for (size_t i = from; i < from + 30; i++) {
		char c;
		int pipes[2];

		if (pipe(pipes))
			ct_die("pipe");
		n += write(pipes[1], p + i * PAGE, 1) < 0 && errno == EFAULT;
		n += write(pipes[1], "c", 1) == 1 &&
		     read(pipes[0], p + i * PAGE, 1) < 0 && errno == EFAULT &&
		     read(pipes[0], &c, 1) >= 0;
		close(pipes[0]);
		close(pipes[1]);
	}
	return (void *)(uintptr_t)n;
}

/* Into and from memory that cannot be had. */
static void calls(void)
{
	pthread_t t[4];
	size_t n = 0;

	for (size_t i = 0; i < 4; i++)
		pthread_create(&t[i], NULL, reader,
			       (void *)(uintptr_t)(100 + i * 30));
	for (size_t i = 0; i < 4; i++) {
		void *r;

		pthread_join(t[i], &r);
		n += (size_t)(uintptr_t)r;
	}
	say("C23k EFAULT of 240 calls: %zu", n);
	say("C23k by raw calls: %s, %s",
	    ct_raw(SYS_write, 1, (long)(p + 90 * PAGE), 1, 0) == -EFAULT
		    ? "EFAULT"
		    : "?",
	    ct_raw(SYS_clock_gettime, 0, (long)(p + 91 * PAGE), 0, 0) == -EFAULT
		    ? "EFAULT"
		    : "?");
}

/* It cannot be had, nor opened; then it can be had again. */
static void away(void)
{
	command("away");
	fails("load while it is away", 30, false);
	fails("store while it is away", 31, true);
	command("none");
	for (int i = 0; i < 100 && ct_load(p + 30 * PAGE) < 0; i++)
		usleep(20000);
	say("C23k back: %d", ct_matches(p + 30 * PAGE, PAGE, 30 * PAGE));
	for (int i = 0; i < 100 && ct_store(p + 31 * PAGE, 7) < 0; i++)
		usleep(20000);
	say("C23k stored: %d %d", ct_load(p + 31 * PAGE),
	    ct_matches(p + 31 * PAGE + 1, PAGE - 1, 31 * PAGE + 1));
}

int main(int argc, char **argv)
{
	int fd;

	ct_begin(argc, argv);
	fd = open(ct_path("bad"), O_RDWR);
	if (fd < 0)
		ct_die("open");
	p = ct_map(fd, SIZE, RW, MAP_SHARED, 0);
	close(fd); /* or the kernel can map it by that */
	madvise(p, SIZE, MADV_RANDOM);
	say("C23k before: %d", ct_matches(p, 4 * PAGE, 0));
	away();
	p[9 * PAGE] = 0x42;
	command("die");
	fails("load", 60, false);
	fails("store", 70, true);
	calls();
	say("C23k what is there: %d", ct_load(p) == ct_byte(0));
	say("C23k what was stored: %02x", ct_load(p + 9 * PAGE));
	say("C23k msync fails: %d", msync(p, SIZE, MS_SYNC) < 0);
	fails("load after it", 61, false);
	say_rc("C23k munmap", munmap(p, SIZE));
	return 0;
}
