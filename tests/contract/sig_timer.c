/* SPDX-License-Identifier: MIT */
/* S24: timers whose function runs in a thread of libc's (SIGEV_THREAD), and
 * the thread of libc's that starts it: created before the first mapping. */
#include "ct.h"

#include <time.h>

static char *p;
static int fd;
static volatile int calls;

static void on_timer(union sigval v)
{
	bool ok = true;

	for (size_t i = 1; p && i < 64; i += 2)
		ok &= ct_matches(p + i * PAGE, PAGE, i * PAGE);
	if (p)
		p[2 * PAGE + 1] = 0x56;
	say("S24 value %d: %d", v.sival_int, ok);
	calls++;
}

static void timer(int value)
{
	struct sigevent ev = { .sigev_notify = SIGEV_THREAD,
			       .sigev_notify_function = on_timer,
			       .sigev_value.sival_int = value };
	struct itimerspec soon = { { 0, 0 }, { 0, 5000000 } };
	int before = calls;
	timer_t t;

	if (timer_create(CLOCK_MONOTONIC, &ev, &t))
		ct_die("timer_create");
	timer_settime(t, 0, &soon, NULL);
	for (int i = 0; i < 2000 && calls == before; i++)
		usleep(1000);
	timer_delete(t);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	timer(1);
	fd = ct_file("f", 64 * PAGE);
	p = ct_map(fd, 64 * PAGE, RW, MAP_SHARED, 0);
	say("S24 map: %d", ct_matches(p, 64 * PAGE, 0));
	timer(2);
	p[4 * PAGE] = 1;
	timer(3);
	say("S24 in the file: %02x, calls %d", ct_in_file(fd, 2 * PAGE + 1),
	    calls);
	return 0;
}
