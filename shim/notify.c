/* SPDX-License-Identifier: MIT */
/*
 * notify.c - SIGEV_THREAD: libc runs the program's function in a thread of its
 * own that has every signal blocked, SIGBUS too, where a fault would kill.
 */
#include "shim.h"

#include <mqueue.h>
#include <time.h>

FM_NEXT(timer_create)
FM_NEXT(mq_notify)

struct notify {
	void (*fn)(union sigval value);
	union sigval value;
	bool once;
};

static void notify_main(union sigval arg)
{
	struct notify *mine = arg.sival_ptr, n = *mine;
	uint64_t bit = FM_BUS_BIT, old = 0;

	if (n.once)
		fm_free(mine);
	fm_sys4(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, &old, 8);
	if (old & FM_BUS_BIT)
		fm_view_set(true);
	n.fn(n.value);
}

/* NULL: not concerned, or no memory. A timer's is never freed: its last
 * callback may begin after timer_delete. */
static struct notify *wrap(const struct sigevent *ev, struct sigevent *ret,
			   bool once)
{
	struct notify *n;

	if (!fm_on() || !ev || ev->sigev_notify != SIGEV_THREAD)
		return NULL;
	n = fm_alloc(sizeof(*n));
	if (!n)
		return NULL;
	fm_threads_come(); /* libc will make one */
	*n = (struct notify){ ev->sigev_notify_function, ev->sigev_value,
			      once };
	*ret = *ev;
	ret->sigev_notify_function = notify_main;
	ret->sigev_value.sival_ptr = n;
	return n;
}

FM_HOOK int timer_create(clockid_t clock, struct sigevent *ev, timer_t *ret_id)
{
	struct sigevent mine;
	struct notify *n = wrap(ev, &mine, false);
	int r = FM_LATE(timer_create)(clock, n ? &mine : ev, ret_id);

	if (r)
		fm_free(n);
	return r;
}

FM_HOOK int mq_notify(mqd_t mq, const struct sigevent *ev)
{
	struct sigevent mine;
	struct notify *n = wrap(ev, &mine, true);
	int r = FM_LATE(mq_notify)(mq, n ? &mine : ev);

	if (r)
		fm_free(n);
	return r;
}
