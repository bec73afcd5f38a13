/* SPDX-License-Identifier: MIT */
/*
 * engine.c - configuration at load, start on first need, end.
 */
#include <errno.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "base/epoch.h"
#include "base/fds.h"
#include "base/go_binary.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/thread.h"
#include "cache/cache.h"
#include "cache/collapse.h"
#include "cache/evictor.h"
#include "cache/frame.h"
#include "cache/mem_monitor.h"
#include "ending.h"
#include "engine.h"
#include "engine_priv.h"
#include "fault/fault.h"
#include "fault/fault_around.h"
#include "fault/uffd_poison.h"
#include "file/demote_queue.h"
#include "file/file.h"
#include "guardian.h"
#include "io/bounce.h"
#include "io/demand.h"
#include "io/posix_locks.h"
#include "io/ring.h"
#include "io/trace.h"
#include "map/pin_table.h"
#include "map/server_reason.h"
#include "map/uffd.h"
#include "map/window_pool.h"
#include "mmap/skipped.h"
#include "observe/control.h"
#include "observe/stats.h"
#include "policy.h"
#include "readahead/ahead.h"
#include "rw/inflight_io.h"
#include "rw/inplace_update.h"
#include "vm/demote_pagecache.h"
#include "vm/mapops.h"
#include "vm/unmap_cache.h"
#include "writeback/wb.h"

int (*fm_hook_take_signals)(void);
bool (*fm_hook_is_me)(void);

static enum { IDLE, RUNNING, REFUSED } state;
static bool is_child; /* made by fork, not by exec */
static int owner;     /* process whose engine it is */

bool fm_engine_running(void)
{
	return state == RUNNING;
}

/* All but this starts with the first managed mapping, when it would be too
 * late to ask the loader: who holds its lock may be waiting for us. */
bool fm_engine_init(const char *progname, char **envp)
{
	fm_policy_load(progname, envp);
	if (fm_settings()->mode == FM_MODE_OFF || !fm_policy_any())
		return false;
	fm_why_start();
	fm_rawcalls_start();
	fm_thread_init();
	return true;
}

/* ---- start ------------------------------------------------------------- */

struct step {
	const char *what; /* for the message when it fails */
	const char *remedy;
};

static int refuse(const char *what, int err, const char *remedy)
{
	state = REFUSED;
	fm_log(FM_LOG_ERROR,
	       "the kernel's mmap is used: %s failed, errno %d: %s (%s)", what,
	       -err, fm_error_text(-err), remedy);
	if (fm_settings()->strict) {
		fm_log(FM_LOG_ERROR, "FASTMAP_STRICT is set: giving up");
		fm_sys1(SYS_exit_group, 125);
	}
	return err;
}

/* Thread delivery covers raw system calls, but every fault then crosses two
 * threads: `auto` takes signals, which need no privilege, unless such calls are to
 * be expected. */
static bool open_for_threads(const char *reason)
{
	struct fm_uffd_caps caps = { 0 };

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
	fm_log(FM_LOG_WARN, "this program has code by Go, whose system calls are "
	       "not seen: those that are given mapped memory may fail with "
	       "EFAULT (%s%s; or leave such files out of FASTMAP_PATHS)",
	       want == FM_FAULTS_SIGNAL ? "faults=thread helps, with " :
					  "faults by threads would help, with ",
	       needed);
}

static int open_uffd(void)
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
	if (want == FM_FAULTS_AUTO && fm_rawcalls() &&
	    open_for_threads("the program makes system calls of its own (Go)"))
		return 0;
	if (fm_rawcalls())
		say_raw_calls(want);
	fm_delivery_set(FM_DELIVERY_SIGNAL,
			want == FM_FAULTS_THREAD ?
				"thread delivery is not permitted" :
			want == FM_FAULTS_SIGNAL ? "asked for" :
						   "fastest, needs no privilege");
	err = fm_uffd_open(true, &caps);
	if (err)
		return refuse(caps.failed, err,
			      "sysctl vm.unprivileged_userfaultfd, a seccomp "
			      "filter, or Linux older than 5.19; see fastmap "
			      "doctor");
	return 0;
}

/* Instead of signals, if the kernel lets us. */
static int open_uffd_for_threads(void)
{
	struct fm_uffd_caps caps = { 0 };
	int was = fm_uffd_fd();

	if (fm_uffd_open(false, &caps))
		return -EPERM;
	if (caps.user_only) {
		fm_sys_close(fm_uffd_fd());
		fm_uffd_set_fd(was);
		return -EPERM;
	}
	fm_sys_close(was);
	fm_delivery_set(FM_DELIVERY_THREAD, "a thread has SIGBUS blocked");
	fm_log(FM_LOG_INFO, "faults are served by threads: %s",
	       fm_delivery_why());
	return 0;
}

/* A thread that has SIGBUS blocked would be killed by its first fault; where
 * threads serve the faults it does not matter. */
static int take_signals(void)
{
	int err = fm_hook_take_signals ? fm_hook_take_signals() : 0;

	if (err == -EBUSY && fm_delivery() == FM_DELIVERY_SIGNAL &&
	    fm_settings()->faults == FM_FAULTS_AUTO)
		open_uffd_for_threads();
	if (err == -EBUSY && fm_delivery() == FM_DELIVERY_THREAD)
		return 0;
	return err;
}

static int start_delivery(void)
{
	int err = take_signals();

	if (err)
		return refuse("taking SIGBUS", err, "a thread has it blocked "
			      "by a raw system call, or since before we were "
			      "loaded; faults=thread, where permitted, does "
			      "without it");
	fm_uffd_set_fd(fm_fd_raise(fm_uffd_fd()));
	fm_rings_keep(fm_uffd_fd());
	if (fm_delivery() == FM_DELIVERY_THREAD) {
		err = fm_handlers_start();
		if (err)
			return refuse("starting handler threads", err,
				      err == -EAGAIN ? "raise ulimit -u" :
						       "no memory for them");
	}
	return 0;
}

static void every_second(void)
{
	fm_wb_tick();
	fm_demote_queue_serve();
	fm_around_weigh();
	fm_collapse_tick();
}

/* The program must not run out of descriptors for our sake. */
#define MIN_DESCRIPTORS 64

static bool few_descriptors(void)
{
	struct rlimit rl = { MIN_DESCRIPTORS, MIN_DESCRIPTORS };

	fm_sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &rl);
	return rl.rlim_cur < MIN_DESCRIPTORS;
}

/* Valgrind's client request 0x1001 (RUNNING_ON_VALGRIND); on a CPU the rotations
 * add up to nothing. */
static bool on_valgrind(void)
{
	volatile uint64_t args[6] = { 0x1001 };
	uint64_t result = 0;

	__asm__ volatile("rolq $3, %%rdi\n\trolq $13, %%rdi\n\t"
			 "rolq $61, %%rdi\n\trolq $51, %%rdi\n\t"
			 "xchgq %%rbx, %%rbx"
			 : "+d"(result)
			 : "a"(args)
			 : "rdi", "cc", "memory");
	return result != 0;
}

static void start_trace(const char *path)
{
	int err = path ? fm_trace_start(path) : 0;

	if (err)
		fm_log(FM_LOG_WARN, "cannot write the trace to %s, errno %d: %s",
		       path, -err, fm_error_text(-err));
}

static int start(void)
{
	const struct fm_settings *s = fm_settings();
	uint64_t cache = s->cache.bytes;
	unsigned frames = fm_frame_share(cache); /* out of the budget */
	int err;

	if (on_valgrind())
		return refuse("starting on valgrind", -EOPNOTSUPP,
			      "it knows neither userfaultfd nor our clone");
	if (few_descriptors())
		return refuse("reserving descriptors", -EMFILE,
			      "ulimit -n is below 64: raise it");
	err = open_uffd();
	if (err)
		return err;
	err = fm_rings_start(s->ring_limit, s->uring);
	if (err < 0)
		return refuse("device I/O", err, "see fastmap doctor");
	if (err > 0 && s->uring)
		fm_log(FM_LOG_WARN, "io_uring is not available: using "
		       "pread and pwrite (slower)");
	fm_demand_start();
	cache -= frames * FM_HUGE;
	err = fm_bounce_start();
	if (!err)
		err = fm_cache_start(cache);
	if (err)
		return refuse("cache", err, "lower FASTMAP_CACHE");
	err = start_delivery();
	if (err)
		return err;
	fm_rewrite_start();
	fm_frame_start(frames, (unsigned)(cache / 8 / FM_HUGE));
	fm_ahead_start();
	fm_evictor_start();
	fm_collapse_start();
	start_trace(s->trace);
	owner = fm_sys_getpid();
	state = RUNNING;
	fm_demote_start();
	fm_wb_start();
	fm_control_add_timer(1000, every_second);
	fm_room_start();
	fm_control_start();
	return 0;
}

/* A child of raw clone would share the rings, memory and all. Asked for each window
 * that is mapped. */
static bool is_owner(void)
{
	return fm_hook_is_me ? fm_hook_is_me() : fm_sys_getpid() == owner;
}

int fm_engine_need(void)
{
	if (fm_memory_locked())
		return -ENOTSUP;
	if (state == RUNNING)
		return is_owner() ? 0 : -ECHILD;
	if (state == REFUSED)
		return -ENOSYS;
	return start();
}

/* The parent's threads, rings and memory are not here. Descriptors are: give
 * them back. */
void fm_engine_forked(void)
{
	is_child = true;
	fm_locked_reset();
	fm_demote_queue_reset();
	fm_handed_reset();
	fm_stats_reset();
	fm_reads_reset();
	fm_window_reset();
	if (state != RUNNING)
		return;
	state = IDLE;
	fm_delivery_set(fm_delivery(), "not started in this child");
	fm_fd_drop(fm_uffd_fd());
	fm_uffd_set_fd(-1);
	fm_rings_reset();
	fm_trace_reset();
	fm_rewrite_reset();
	fm_demand_reset();
	fm_bounce_reset();
	fm_cache_reset();
	fm_evictor_reset();
	fm_collapse_reset();
	fm_kept_reset();
	fm_frame_reset();
	fm_ahead_reset();
	fm_wb_reset();
	fm_pins_reset();
	fm_failing_reset();
	fm_epoch_reset();
	fm_files_reset();
	fm_plocks_reset();
	fm_guardian_reset();
	fm_room_reset();
	fm_control_reset();
	fm_thread_reset();
}

/* ---- end --------------------------------------------------------------- */

void fm_engine_exit(void)
{
	static _Atomic uint32_t done;

	/* Again each time: what was stored since must not be lost. */
	fm_engine_flush_all();
	if (atomic_exchange(&done, 1))
		return;
	fm_trace_stop();
	if (fm_settings()->mode == FM_MODE_OBSERVE && fm_left_any())
		fm_left_report();
	/* A child that never mapped has nothing to say. */
	if (fm_policy_any() && fm_settings()->stats &&
	    (state == RUNNING || !is_child))
		fm_stats_write();
	fm_control_remove();
	if (state == RUNNING && fm_sys_getpid() == owner)
		fm_ending(false);
}

/* The guardian writes the statistics of who has executed something. */
void fm_engine_before_exec(void)
{
	if (fm_settings()->stats || fm_settings()->socket)
		return;
	if (state == RUNNING && fm_sys_getpid() == owner)
		fm_ending(true);
}
