/* SPDX-License-Identifier: MIT */
/* C52: two threads set the size of a file at once, one up, one down, while a
 * third stores to a private mapping: who comes last decides, and a private copy
 * beyond the end is gone. */
#include "ct.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define ROUNDS ct_rounds(150, 300)
#define UP (20 * PAGE)
#define DOWN (10 * PAGE)
#define AT (15 * PAGE)

static int fd;
static char *map;
static _Atomic int ready, stop;
static _Thread_local sigjmp_buf jump;

static void on_bus(int sig)
{
	siglongjmp(jump, sig);
}

static bool store(size_t off)
{
	if (sigsetjmp(jump, 1))
		return false;
	*(volatile char *)(map + off) = 1;
	return true;
}

static void *resizer(void *size)
{
	ready++;
	while (ready < 3)
		sched_yield();
	if (ftruncate(fd, (off_t)(uintptr_t)size))
		ct_die("ftruncate");
	return NULL;
}

static void *storer(void *arg)
{
	ready++;
	while (!stop)
		store(AT);
	return arg;
}

/* True: the page can be stored to just if it lies in the file. */
static bool one_round(void)
{
	void *(*const run[])(void *) = { resizer, resizer, storer };
	void *const arg[] = { (void *)UP, (void *)DOWN, NULL };
	pthread_t t[3];
	struct stat st;

	if (ftruncate(fd, 5 * PAGE))
		ct_die("ftruncate");
	stop = ready = 0;
	for (int i = 0; i < 3; i++)
		if (pthread_create(&t[i], NULL, run[i], arg[i]))
			ct_die("pthread_create");
	pthread_join(t[0], NULL);
	pthread_join(t[1], NULL);
	stop = 1;
	pthread_join(t[2], NULL);
	if (fstat(fd, &st))
		ct_die("fstat");
	return store(AT) == (st.st_size == UP);
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_bus };
	int bad = 0;

	ct_begin(argc, argv);
	sigaction(SIGBUS, &sa, NULL);
	fd = ct_file("resized", 5 * PAGE);
	map = ct_map(fd, 2 * UP, RW, MAP_PRIVATE, 0);
	for (int k = 0; k < ROUNDS; k++)
		bad += !one_round();
	say("C52 rounds after which the page is not as the size says: %d", bad);
	return 0;
}
