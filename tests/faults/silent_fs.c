/* SPDX-License-Identifier: MIT */
/*
 * silent_fs.c - who serves a file system does not answer for a while, as over a
 * network that is away (C23s): who touches its files waits, nobody else, not
 * even where another process has one open whose attributes are not known. DIR
 * is a failing_fs.
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

/* Of a private mapping: a fork must not come between its read and its store. */
static void *storer(void *arg)
{
	char *q = arg;

	q[50 * PAGE] = 7;
	done++;
	return (void *)(uintptr_t)(q[50 * PAGE] == 7 &&
				   q[50 * PAGE + 1] ==
					   (char)ct_byte(50 * PAGE + 1));
}

/* Changes the mapping that others wait in, which may take as long. */
static void *changer(void *arg)
{
	return (void *)(uintptr_t)!mprotect(p, SIZE, RW);
}

static void wait_for_a_page(void)
{
	ct_load(p + 200 * PAGE);
	_exit(1);
}

/* Two that will wait when the signals come. From the first touch by a child on
 * the file is handed over. */
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

static void map_and_unmap(int flags, int fd, int prot)
{
	char *m = ct_map(fd, 16 * PAGE, prot, flags, 0);

	if (prot & PROT_WRITE)
		memset(m, 1, 16 * PAGE);
	munmap(m, 16 * PAGE);
}

static bool forks(void)
{
	int status = -1;
	const pid_t pid = fork();

	if (!pid)
		_exit(3);
	return waitpid(pid, &status, 0) == pid && WIFEXITED(status) &&
	       WEXITSTATUS(status) == 3;
}

static _Atomic int stage;

/* What has nothing to do with who waits. */
static void *go_on(void *arg)
{
	const int fd = memfd_create("other", 0);
	int other = open(ct_path("holes"), O_RDWR);

	if (fd < 0 || other < 0 || ftruncate(fd, 16 * PAGE))
		ct_die("other");
	for (int k = 0; k < 2; k++) {
		map_and_unmap(MAP_PRIVATE | MAP_ANONYMOUS, -1, RW);
		stage++;
		map_and_unmap(MAP_SHARED, fd, RW);
		stage++;
		map_and_unmap(MAP_SHARED, other, PROT_READ);
		stage++;
		stage += forks();
	}
	return NULL;
}

/* Far less than for what the device is silent. */
static void goes_on(void)
{
	pthread_t t;

	stage = 0;
	pthread_create(&t, NULL, go_on, NULL);
	for (int ms = 0; ms < 8000 && stage < 8; ms += 10)
		usleep(10000);
	say("C23s goes on: %d", stage);
	if (stage < 8)
		command("none");
	pthread_join(t, NULL);
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

static pid_t another_with_one_open(void)
{
	int ready[2];
	char c;
	pid_t pid;

	if (pipe(ready) || (pid = fork()) < 0)
		ct_die("another");
	if (!pid) {
		prctl(PR_SET_PDEATHSIG, SIGKILL);
		if (open(ct_path("mute"), O_RDONLY) < 0)
			ct_die("mute");
		close(ready[1]);
		for (;;)
			pause();
	}
	close(ready[1]);
	if (read(ready[0], &c, 1))
		ct_die("another");
	close(ready[0]);
	return pid;
}

int main(int argc, char **argv)
{
	pid_t another;
	pthread_t t[5];
	char *q;
	volatile pid_t *pids;
	int fd, right = 0;
	void *r;

	ct_begin(argc, argv);
	another = another_with_one_open();
	fd = open(ct_path("bad"), O_RDWR);
	if (fd < 0)
		ct_die("open");
	p = ct_map(fd, SIZE, RW, MAP_SHARED, 0);
	madvise(p, SIZE, MADV_RANDOM);
	q = ct_map(fd, SIZE, RW, MAP_PRIVATE, 0);
	madvise(q, SIZE, MADV_RANDOM);
	say("C23s before: %d", ct_load(p) == ct_byte(0));
	pids = mmap(NULL, PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
	prctl(PR_SET_CHILD_SUBREAPER, 1);
	command("silent");
	for (size_t i = 0; i < 3; i++)
		pthread_create(&t[i], NULL, loader,
			       (void *)(uintptr_t)(100 + 20 * i));
	pthread_create(&t[3], NULL, storer, q);
	usleep(200000);
	pthread_create(&t[4], NULL, changer, NULL);
	usleep(200000);
	goes_on();
	waiters(pids);
	sleep(1);
	kill(pids[0], SIGKILL);
	kill(pids[1], SIGTERM);
	goes_on();
	say("C23s waiting: %d, what is there: %d", 4 - done,
	    ct_load(p) == ct_byte(0));
	command("none");
	ended("SIGKILL", pids[0], SIGKILL);
	ended("SIGTERM", pids[1], SIGTERM);
	for (size_t i = 0; i < 5; i++) {
		pthread_join(t[i], &r);
		right += r != NULL;
	}
	say("C23s came: %d", right);
	say("C23s after: %d", ct_matches(p, SIZE, 0));
	say_rc("C23s munmap", munmap(p, SIZE));
	kill(another, SIGKILL);
	return 0;
}
