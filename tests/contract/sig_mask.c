/* SPDX-License-Identifier: MIT */
/* Threads that block every signal still get their pages, and every call that
 * reports a mask reports what the program set. */
#include "ct.h"

#include <pthread.h>
#include <threads.h>

#define PAGES 64
#define BUS_MASK (1 << (SIGBUS - 1))

#pragma GCC diagnostic ignored "-Wdeprecated-declarations"

static char *map;
static int next_page;

static bool bus_in(const sigset_t *set)
{
	return sigismember(set, SIGBUS);
}

static bool bus_blocked(void)
{
	sigset_t now;

	pthread_sigmask(SIG_SETMASK, NULL, &now);
	return bus_in(&now);
}

/* A page that nobody has touched yet. */
static bool fresh_page_ok(void)
{
	size_t off = (size_t)next_page++ * PAGE;

	return ct_matches(map + off, PAGE, off);
}

static void *thread_main(void *name)
{
	say("G1 %s: SIGBUS blocked %d, page %d", (char *)name, bus_blocked(),
	    fresh_page_ok());
	return NULL;
}

static int c11_main(void *name)
{
	thread_main(name);
	return 7;
}

static void run_thread(const char *name, pthread_attr_t *attr)
{
	pthread_t t;

	if (pthread_create(&t, attr, thread_main, (void *)(uintptr_t)name))
		ct_die("pthread_create");
	pthread_join(t, NULL);
}

/* The way MonetDB starts its threads. */
static void block_all_but_two(void)
{
	sigset_t block, old;

	sigfillset(&block);
	sigdelset(&block, SIGQUIT);
	sigdelset(&block, SIGPROF);
	pthread_sigmask(SIG_SETMASK, &block, &old);
	say("G1 before: SIGBUS blocked %d", bus_in(&old));
	run_thread("inherited", NULL);
	pthread_sigmask(SIG_SETMASK, &old, &block);
	say("G1 during: SIGBUS blocked %d SIGHUP %d SIGQUIT %d", bus_in(&block),
	    sigismember(&block, SIGHUP), sigismember(&block, SIGQUIT));
	run_thread("restored", NULL);
}

static void attribute_mask(void)
{
	pthread_attr_t attr;
	sigset_t set;

	sigfillset(&set);
	pthread_attr_init(&attr);
	pthread_attr_setsigmask_np(&attr, &set);
	run_thread("attribute", &attr);
	sigemptyset(&set);
	pthread_attr_getsigmask_np(&attr, &set);
	say("G1 attribute still has SIGBUS %d", bus_in(&set));
	sigemptyset(&set);
	pthread_attr_setsigmask_np(&attr, &set);
	sighold(SIGBUS);
	run_thread("empty attribute", &attr);
	sigrelse(SIGBUS);
}

static void c11_thread(void)
{
	sigset_t set, old;
	thrd_t t;
	int r = 0;

	sigfillset(&set);
	sigprocmask(SIG_BLOCK, &set, &old);
	thrd_create(&t, c11_main, (char[]){ "C11" });
	thrd_join(t, &r);
	sigprocmask(SIG_SETMASK, &old, NULL);
	say("G1 C11 result %d", r);
}

static void inflight_syscalls(void)
{
	int all = sigblock(~0);

	say("G1 sigblock: %d page %d", !!(all & BUS_MASK), fresh_page_ok());
	say("G1 sigsetmask: %d", !!(sigsetmask(all) & BUS_MASK));
	say("G1 after: %d", bus_blocked());
	sighold(SIGBUS);
	say("G1 sighold: %d page %d", bus_blocked(), fresh_page_ok());
	sigrelse(SIGBUS);
	say("G1 sigrelse: %d", bus_blocked());
}

static void bad_calls(void)
{
	sigset_t set, *volatile same = &set;

	sigfillset(&set);
	say_rc("G1 bad how", sigprocmask(77, &set, NULL));
	say("G1 unchanged: %d", bus_blocked());
	say("G1 bad how: %d", pthread_sigmask(77, &set, NULL) == EINVAL);
	pthread_sigmask(SIG_BLOCK, &set, same); /* one set for both */
	say("G1 aliased sets: old %d new %d", bus_in(&set), bus_blocked());
	pthread_sigmask(SIG_SETMASK, &set, NULL);
	say("G1 restored: %d", bus_blocked());
}

int main(int argc, char **argv)
{
	int fd;

	ct_begin(argc, argv);
	fd = ct_file("mask", PAGES * PAGE);
	map = ct_map(fd, PAGES * PAGE, PROT_READ, MAP_SHARED, 0);
	block_all_but_two();
	attribute_mask();
	c11_thread();
	inflight_syscalls();
	bad_calls();
	say("G1 last page %d", fresh_page_ok());
	return 0;
}
