/* SPDX-License-Identifier: MIT */
/*
 * control.c - the thread that looks after things: what is done each second
 * (life.h), the control socket. Never in the path of a fault.
 */
#include <poll.h>

#include "base/creds.h"
#include "base/left.h"
#include "base/life.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/thread.h"
#include "cache/cache.h"
#include "control_priv.h"
#include "policy.h"

static _Atomic bool runs;
static uint64_t due; /* ms */

/* ---- the cache's size -------------------------------------------------- */

static void say_size(void)
{
	static uint64_t said;
	uint64_t now = fm_mem_monitor_target();

	if (now >= said - said / 8 && now <= said + said / 8)
		return;
	if (said)
		fm_log(FM_LOG_INFO, "cache is now %lu KiB",
		       (unsigned long)(now >> 10));
	said = now;
}

static void control_every_second(void)
{
	fm_control_policy_look();
	say_size();
}

/* ---- the loop ---------------------------------------------------------- */

/* Returns how many milliseconds there are until the next. One that comes late
 * does not come twice. Without the engine there is the socket alone. */
static int run_second(void)
{
	uint64_t now = fm_now_ms();

	if (now < due)
		return (int)(due - now);
	if (fm_life_running())
		fm_life_second();
	else
		fm_left_end_if_alone();
	due = fm_now_ms() + FM_SECOND_MS;
	return FM_SECOND_MS;
}

/* poll(2) refuses when the program has set RLIMIT_NOFILE below the number. */
static void control_wait_for(int ms)
{
	struct pollfd p[2 + FM_CONTROL_CLIENTS];
	int n = fm_control_fds(p);
	int got = fm_thread_poll(p, n, ms);

	if (got > 0) {
		fm_creds_look();
		fm_control_serve(p);
	} else if (got < 0 && got != -EINTR)
		fm_sys_sleep_us((uint64_t)ms * 1000);
}

static void *control_thread(void *arg)
{
	fm_thread_begin("fastmap-control");
	for (;;)
		control_wait_for(run_second());
	return NULL;
}

static void listen_or_say(void)
{
	const int err = fm_control_listen();

	if (err)
		fm_log(FM_LOG_WARN, "no control socket %s (errno %d: %s)",
		       fm_settings()->socket, -err, fm_error_text(-err));
}

/* By the thread that starts the engine, or the one that advises. It is not left
 * to the new thread to listen: a program that confines all its threads before
 * that one has had a CPU would be ended for the call. */
static int control_start(void)
{
	int err;

	if (atomic_exchange(&runs, true))
		return 0;
	fm_control_policy_seen();
	if (fm_sys_may_ask())
		listen_or_say();
	due = fm_now_ms() + FM_SECOND_MS;
	fm_thread_will_poll();
	err = fm_thread_create(control_thread, NULL);
	if (err)
		atomic_store(&runs, false);
	return err;
}

static void control_beside(void)
{
	if (fm_sys_may_ask() && fm_control_wanted())
		control_start();
}

/* The thread is not here: give its descriptors back. */
static void control_forked(void)
{
	if (atomic_exchange(&runs, false))
		fm_control_drop_fds();
}

FM_LIFE(control, .level = FM_LIFE_RUNNING, .start = control_start,
	.beside = control_beside, .second = control_every_second,
	.forked = control_forked)
