/* SPDX-License-Identifier: MIT */
/* not engaged: the mappings belong to children, most of which write no
 * statistics */
/* Every way to end leaves the stores in the file; handlers and destructors
 * still see their memory. */
#include "ct.h"

#include <pthread.h>

static char *map;
static int fd;

static void late_store(void)
{
	memcpy(map + 2 * PAGE, "late", 4);
	say("K10 handler: first byte %c", map[0]);
}

__attribute__((destructor)) static void last_store(void)
{
	if (map)
		memcpy(map + 3 * PAGE, "last", 4);
}

static void end_exit(void)
{
	atexit(late_store);
	exit(0);
}

static void end__exit(void)
{
	_exit(0);
}

static void end__Exit(void)
{
	_Exit(0);
}

static void end_quick(void)
{
	at_quick_exit(late_store);
	quick_exit(0);
}

static void end_abort(void)
{
	abort();
}

static void end_term(void)
{
	raise(SIGTERM);
}

static void end_kill(void)
{
	raise(SIGKILL);
}

static void *main_waits(void *unused)
{
	usleep(20000);
	memcpy(map + 2 * PAGE, "late", 4);
	return NULL;
}

/* The process lives as long as its last thread. */
static void end_thread(void)
{
	pthread_t t;

	pthread_create(&t, NULL, main_waits, NULL);
	pthread_exit(NULL);
}

static void (*ending)(void);

static void body(void)
{
	fd = open(ct_path("exit"), O_RDWR);
	map = ct_map(fd, 4 * PAGE, RW, MAP_SHARED, 0);
	memset(map, 'A', 2 * PAGE);
	ending();
}

static void show(const char *name)
{
	char page[4 * PAGE];
	size_t n = 0;

	/* A death by signal is written back a moment after the wait. */
	for (int i = 0; i < 200; i++) {
		if (pread(fd, page, sizeof(page), 0) != sizeof(page))
			ct_die("pread");
		for (n = 0; n < 2 * PAGE && page[n] == 'A'; n++)
			;
		if (n == 2 * PAGE)
			break;
		usleep(10000);
	}
	say("K10 %s: %zu bytes, then '%.4s' '%.4s'", name, n, page + 2 * PAGE,
	    page + 3 * PAGE);
}

static void run(const char *name, void (*how)(void))
{
	char zero[4 * PAGE];

	memset(zero, '-', sizeof(zero));
	ct_pwrite(fd, zero, sizeof(zero), 0);
	ending = how;
	/* A descriptor of ours would leave the child's mapping to the kernel:
	 * see docs/sharing.md. */
	close(fd);
	say_child(name, body);
	fd = open(ct_path("exit"), O_RDWR);
	show(name);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	fd = ct_file("exit", 4 * PAGE);
	run("exit", end_exit);
	run("_exit", end__exit);
	run("_Exit", end__Exit);
	run("quick_exit", end_quick);
	run("pthread_exit", end_thread);
	run("abort", end_abort);
	run("SIGTERM", end_term);
	run("SIGKILL", end_kill);
	return 0;
}
