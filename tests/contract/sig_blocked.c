/* SPDX-License-Identifier: MIT */
/* S20-S23: SIGBUS blocked where no hook sees it.
 *
 * not engaged: with signals the engine steps aside; see faults/run sigbus-*
 */
#include "ct.h"

#include <pthread.h>
#include <sys/syscall.h>
#include <time.h>

static char *p;
static int fd;
static pthread_barrier_t ready, mapped;
static volatile int called;

static void block_all(void)
{
	uint64_t all = ~0ull;

	syscall(SYS_rt_sigprocmask, SIG_SETMASK, &all, NULL, 8);
}

static void touch(const char *what)
{
	say("%s: load %d, ", what,
	    ct_matches(p + 3 * PAGE, 5 * PAGE, 3 * PAGE));
	p[2 * PAGE] = 0x55;
	say("%s: store, in the file %02x", what, ct_in_file(fd, 2 * PAGE));
}

static void *blocked(void *arg)
{
	block_all();
	pthread_barrier_wait(&ready);
	pthread_barrier_wait(&mapped);
	touch("S20 thread that blocks everything");
	return arg;
}

static void on_timer(union sigval v)
{
	say("S22 value: %d", v.sival_int);
	touch("S22 timer thread");
	called = 1;
}

static timer_t timer(int value)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD,
			       .sigev_notify_function = on_timer,
			       .sigev_value.sival_int = value };
	struct itimerspec soon = { { 0, 0 }, { 0, 5000000 } };
	timer_t t;

	if (timer_create(CLOCK_MONOTONIC, &ev, &t))
		ct_die("timer_create");
	timer_settime(t, 0, &soon, NULL);
	for (int i = 0; i < 2000 && !called; i++)
		usleep(1000);
	return t;
}

int main(int argc, char **argv)
{
	char *mode = getenv("SIG_BLOCKED_MODE");
	pthread_t t;

	ct_begin(argc, argv);
	if (!mode) { /* the whole program, from its start */
		setenv("SIG_BLOCKED_MODE", "again", 1);
		block_all();
		execl("/proc/self/exe", "sig_blocked", ct_dir, NULL);
		ct_die("exec");
	}
	pthread_barrier_init(&ready, NULL, 2);
	pthread_barrier_init(&mapped, NULL, 2);
	pthread_create(&t, NULL, blocked, NULL);
	pthread_barrier_wait(&ready);
	fd = ct_file("f", 64 * PAGE);
	p = ct_map(fd, 64 * PAGE, RW, MAP_SHARED, 0);
	touch("S21 program that was started so");
	pthread_barrier_wait(&mapped);
	pthread_join(t, NULL);
	timer(7);
	say("S23 end: %d", called);
	return 0;
}
