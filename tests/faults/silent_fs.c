/* SPDX-License-Identifier: MIT */
/*
 * silent_fs.c - who serves a file system does not answer for a while, as over a
 * network that is away (C23s). DIR is a failing_fs.
 */
#include "../contract/ct.h"

#include <pthread.h>
#include <sys/prctl.h>
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

static void wait_for_a_page(void)
{
	ct_load(p + 200 * PAGE);
	_exit(1);
}

/* Two that will wait when the signals come. This process forks once: from then
 * on its file is handed over, and a second fork would wait for that, which
 * waits for the device (docs/limits.md). */
static void waiters(volatile pid_t *ret)
{
	const pid_t pid = fork();

	if (!pid) {
		const pid_t other = fork();

		if (other)
			ret[1] = other;
		wait_for_a_page();
	}
	ret[0] = pid;
	while (!ret[1])
		usleep(1000);
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
	volatile pid_t *pids;
	int fd, right = 0;
	void *r;

	ct_begin(argc, argv);
	fd = open(ct_path("bad"), O_RDWR);
	if (fd < 0)
		ct_die("open");
	p = ct_map(fd, SIZE, RW, MAP_SHARED, 0);
	madvise(p, SIZE, MADV_RANDOM);
	say("C23s before: %d", ct_load(p) == ct_byte(0));
	pids = mmap(NULL, PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	command("silent");
	for (size_t i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, loader,
			       (void *)(uintptr_t)(100 + 20 * i));
	waiters(pids);
	sleep(1);
	kill(pids[0], SIGKILL);
	kill(pids[1], SIGTERM);
	sleep(1);
	say("C23s waiting: %d, what is there: %d", 3 - done,
	    ct_load(p) == ct_byte(0));
	command("none");
	ended("SIGKILL", pids[0], SIGKILL);
	ended("SIGTERM", pids[1], SIGTERM);
	for (size_t i = 0; i < 3; i++) {
		pthread_join(t[i], &r);
		right += r != NULL;
	}
	say("C23s came: %d", right);
	say("C23s after: %d", ct_matches(p, SIZE, 0));
	say_rc("C23s munmap", munmap(p, SIZE));
	return 0;
}
