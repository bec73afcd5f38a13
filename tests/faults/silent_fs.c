/* SPDX-License-Identifier: MIT */
/*
 * silent_fs.c - who serves a file system does not answer for a while, as over a
 * network that is away (C23s). DIR is a failing_fs.
 */
#include "../contract/ct.h"

#include <pthread.h>
#include <sys/wait.h>

#define SIZE (1ul << 20)

static char *p;
static _Atomic int done;

static void command(const char *word)
{
	int c = open(ct_path("control"), O_WRONLY);

	if (c < 0 || write(c, word, strlen(word)) < 0)
		ct_die(word);
	close(c);
}

static void *loader(void *arg)
{
	const size_t page = (size_t)(uintptr_t)arg;
	const int r = ct_load(p + page * PAGE);

	done++;
	return (void *)(uintptr_t)(r == ct_byte(page * PAGE));
}

/* One that will wait when the signal comes. */
static pid_t waiter(void)
{
	const pid_t pid = fork();

	if (!pid) {
		ct_load(p + 200 * PAGE);
		_exit(1);
	}
	return pid;
}

/* Where it waits for FUSE, the kernel lets it go when that has answered. */
static void ended(const char *what, pid_t pid, int sig)
{
	int status = 0, ms = 0;

	for (; ms < 5000 && !waitpid(pid, &status, WNOHANG); ms += 10)
		usleep(10000);
	say("C23s %s ends it: %d", what,
	    ms < 5000 && WIFSIGNALED(status) && WTERMSIG(status) == sig);
}

int main(int argc, char **argv)
{
	pthread_t t[3];
	pid_t killed, asked;
	int fd, right = 0;
	void *r;

	ct_begin(argc, argv);
	fd = open(ct_path("bad"), O_RDWR);
	if (fd < 0)
		ct_die("open");
	p = ct_map(fd, SIZE, RW, MAP_SHARED, 0);
	madvise(p, SIZE, MADV_RANDOM);
	say("C23s before: %d", ct_load(p) == ct_byte(0));
	command("silent");
	for (size_t i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, loader,
			       (void *)(uintptr_t)(100 + 20 * i));
	killed = waiter();
	asked = waiter();
	sleep(1);
	kill(killed, SIGKILL);
	kill(asked, SIGTERM);
	sleep(1);
	say("C23s waiting: %d, what is there: %d", 3 - done,
	    ct_load(p) == ct_byte(0));
	command("none");
	ended("SIGKILL", killed, SIGKILL);
	ended("SIGTERM", asked, SIGTERM);
	for (size_t i = 0; i < 3; i++) {
		pthread_join(t[i], &r);
		right += r != NULL;
	}
	say("C23s came: %d", right);
	say("C23s after: %d", ct_matches(p, SIZE, 0));
	say_rc("C23s munmap", munmap(p, SIZE));
	return 0;
}
