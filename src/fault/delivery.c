/* SPDX-License-Identifier: MIT */
/*
 * delivery.c - how faults reach us: by a signal in the thread that touched the
 * page, or as messages to threads of ours (uffd_threads.c).
 */
#include <errno.h>

#include "base/fds.h"
#include "base/go_binary.h"
#include "base/life.h"
#include "base/log.h"
#include "base/sys.h"
#include "engine.h"
#include "fault.h"
#include "io/io.h"
#include "map/map.h"
#include "policy.h"

static int delivery_open_uffd(void), take_faults(void);
static void delivery_reset(void);

FM_LIFE(uffd, .level = FM_LIFE_UFFD, .start = delivery_open_uffd,
	.reset = delivery_reset,
	.remedy =
		"sysctl vm.unprivileged_userfaultfd, a seccomp filter, or Linux "
		"older than 5.19; see fastmap doctor")
FM_LIFE(delivery, .level = FM_LIFE_FAULTS, .start = take_faults,
	.what = "taking SIGBUS",
	.remedy =
		"a thread has it blocked by a raw system call, or since before we "
		"were loaded, or a small alternate stack; faults=thread, where "
		"permitted, does without it")

/* Thread delivery covers raw system calls, but every fault then crosses two
 * threads: `auto` takes signals, which need no privilege, unless such calls are
 * to be expected. */
static bool open_for_threads(const char *reason)
{
	struct fm_uffd_caps caps = { .remap = fm_settings()->promote_ms };

	if (fm_uffd_open(false, &caps))
		return false;
	if (caps.user_only) {
		fm_sys_close(fm_uffd_fd());
		return false;
	}
	fm_delivery_set(FM_DELIVERY_THREAD, reason);
	return true;
}

static const char *const needed = "privilege, or access to /dev/userfaultfd";

static void say_raw_calls(enum fm_faults want)
{
	fm_log(FM_LOG_WARN,
	       "this program has code by Go, whose system calls are "
	       "not seen: those that are given mapped memory may fail with "
	       "EFAULT (%s%s; or leave such files out of FASTMAP_PATHS)",
	       want == FM_FAULTS_SIGNAL ? "faults=thread helps, with "
					: "faults by threads would help, with ",
	       needed);
}

static int delivery_open_uffd(void)
{
	struct fm_uffd_caps caps = { 0 };
	enum fm_faults want = fm_settings()->faults;
	int err;

	if (want == FM_FAULTS_THREAD) {
		if (open_for_threads("asked for"))
			return 0;
		fm_log(FM_LOG_WARN, "faults=thread needs %s, to see the "
		       "kernel's faults: using signals", needed);
	}
	if (want == FM_FAULTS_AUTO && fm_go_binary() &&
	    open_for_threads("the program makes system calls of its own (Go)"))
		return 0;
	if (fm_go_binary())
		say_raw_calls(want);
	fm_delivery_set(
		FM_DELIVERY_SIGNAL,
		want == FM_FAULTS_THREAD   ? "thread delivery is not permitted"
		: want == FM_FAULTS_SIGNAL ? "asked for"
					   : "fastest, needs no privilege");
	err = fm_uffd_open(true, &caps);
	life_uffd.what = caps.failed;
	return err;
}

/* Instead of signals, if the kernel lets us. */
static int open_uffd_for_threads(void)
{
	struct fm_uffd_caps caps = { .remap = fm_settings()->promote_ms };
	int was = fm_uffd_fd();

	if (fm_uffd_open(false, &caps))
		return -EPERM;
	if (caps.user_only) {
		fm_sys_close(fm_uffd_fd());
		fm_uffd_set_fd(was);
		return -EPERM;
	}
	fm_sys_close(was);
	fm_delivery_set(FM_DELIVERY_THREAD, "a thread cannot take SIGBUS");
	fm_log(FM_LOG_INFO, "faults are served by threads: %s",
	       fm_delivery_why());
	return 0;
}

/* A thread that has SIGBUS blocked would be killed by its first fault, and one
 * with a small stack for it by a later one; where threads serve the faults it
 * does not matter. */
static int take_signals(void)
{
	fm_up_shim_take_signals *take = FM_UP_ONE(shim_take_signals);
	int err = take ? take() : 0;

	if (err == -EBUSY && fm_delivery() == FM_DELIVERY_SIGNAL &&
	    fm_settings()->faults == FM_FAULTS_AUTO)
		open_uffd_for_threads();
	if (err == -EBUSY && fm_delivery() == FM_DELIVERY_THREAD)
		return 0;
	return err;
}

static int take_faults(void)
{
	int err = take_signals();

	if (err)
		return err;
	fm_uffd_set_fd(fm_fd_raise(fm_uffd_fd()));
	fm_rings_keep(fm_uffd_fd());
	if (fm_delivery() != FM_DELIVERY_THREAD)
		return 0;
	err = fm_uffd_threads_start();
	if (err) {
		life_delivery.what = "starting handler threads";
		life_delivery.remedy = err == -EAGAIN ? "raise ulimit -u" :
							"no memory for them";
	}
	return err;
}

static void delivery_reset(void)
{
	fm_delivery_set(fm_delivery(), "not started in this child");
	fm_fd_drop(fm_uffd_fd());
	fm_uffd_set_fd(-1);
}
