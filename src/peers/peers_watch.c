/* SPDX-License-Identifier: MIT */
/*
 * peers_watch.c - a thread that hears other processes.
 *
 * The registry's bell is an inotify watch on it. Foreign use of a data file
 * is reported by fanotify, which needs no privilege for this and marks events
 * of our own process with our pid. Where fanotify is refused (old container
 * profiles), inotify says only that somebody opened the file, we included: a
 * look into /proc decides.
 *
 * A foreign open while we store: what is dirty goes to the file at once; if
 * the opener is still there a little later, the file goes to the kernel
 * (peers_open.c). A foreign write: our clean copies are dropped. So they are
 * when somebody has closed it who could write, for stores through a mapping
 * make no event; the kernel queues that one before close, munmap or exit lets
 * anybody go on.
 */
#include <linux/fanotify.h>
#include <poll.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>

#include "advise/advise.h"
#include "base/apart.h"
#include "base/creds.h"
#include "base/epoch.h"
#include "base/life.h"
#include "base/lock.h"
#include "base/log.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/thread.h"
#include "engine.h"
#include "file/file.h"
#include "io/io.h"
#include "map/map.h"
#include "peers_priv.h"
#include "tunables.h"
#include "vm/vm.h"
#include "warm/warm.h"

#define HEAR_MOST 64 /* size: buffers full, in one go */

static int bell = -1, fan = -1, ino_fd = -1, nudge = -1;
static bool started;
static int self; /* our process id, while started */
static struct fm_lock hear = FM_LOCK(FM_RANK_HEAR);
static _Atomic bool hearing;     /* events have been read, but not heeded */
static _Atomic bool lost;        /* events have been lost, at any time */
static _Atomic int deaf; /* threads in a sandbox, or descriptors gone */

static void again_from(struct fm_file *f, off_t off, bool discard)
{
	struct fm_range r;

	if (!fm_range_lock(f, off, 0, &r))
		fm_range_unlock(&r, true, discard);
}

static bool has_private(struct fm_file *f)
{
	FM_IN_EPOCH();
	struct fm_map *m = atomic_load(&f->maps);

	while (m && m->shared)
		m = atomic_load(&m->file_next);
	return m;
}

/* Our clean copies of f may be old: load them again. What lies beyond the end
 * is gone, the program's own copies with it. */
static void refresh(struct fm_file *f)
{
	again_from(f, 0, false);
	if (has_private(f))
		again_from(f, (off_t)(((uint64_t)fm_file_size(f) +
				       FM_PAGE_MASK) & ~FM_PAGE_MASK), true);
}

/* ---- what happened ----------------------------------------------------- */

static void foreign(struct fm_file *f, uint64_t mask, int pid)
{
	fm_watch_foreign(f);
	if (fm_kernel_serves(f))
		return;
	if (mask & FAN_OPEN) {
		fm_shared_maybe(f);
		fm_open_seen(f, pid);
	}
	if ((mask & (FAN_MODIFY | FAN_CLOSE_WRITE)) && !fm_watch_untouched(f)) {
		if ((mask & FAN_CLOSE_WRITE) && fm_open_wrote(f))
			return;
		refresh(f);
	}
	/* Told as one event, an open and a close do not tell how many: who it
	 * was is looked at, if that is known. */
	if ((mask & FAN_CLOSE) && !(pid && (mask & FAN_OPEN)))
		fm_open_closed(f, pid);
}

/* ---- events ------------------------------------------------------------ */

/* Processes that have opened a file for us lately (demote.c). Their opens end
 * with the mapping, not with them. */
#define HELPERS 8

static struct {
	_Atomic int pid;
	_Atomic uint32_t at;
} helpers[HELPERS];

static FM_FAULT void note_helper(int pid)
{
	static _Atomic unsigned next;
	unsigned k = atomic_fetch_add(&next, 1) % HELPERS;

	atomic_store(&helpers[k].at, (uint32_t)fm_now_ms());
	atomic_store(&helpers[k].pid, pid);
}

static bool is_helper(int pid)
{
	uint32_t now = (uint32_t)fm_now_ms();

	for (unsigned k = 0; k < HELPERS; k++)
		if (atomic_load(&helpers[k].pid) == pid &&
		    now - atomic_load(&helpers[k].at) < FM_SECOND_MS)
			return true;
	return false;
}

static void fan_event(const struct fanotify_event_metadata *ev)
{
	struct fm_file *f;

	if (ev->mask & FAN_Q_OVERFLOW) {
		atomic_store(&lost, true);
		fm_registry_notify(); /* and everybody looks again */
		return;
	}
	if (ev->event_len < ev->metadata_len +
				    sizeof(struct fanotify_event_info_fid))
		return;
	f = fm_watch_by_fid(ev + 1);
	if (!f)
		return;
	/* Asked after the space lock has been ours: a helper is known then. */
	if (!is_helper(ev->pid) && !(ev->pid && ev->pid == fm_backup_pid()) &&
	    !(ev->mask == FAN_CLOSE_WRITE &&
	      !fm_watch_is_foreign(f) &&
	      fm_peers_kernel_thread(ev->pid)))
		foreign(f, ev->mask, ev->pid);
	fm_file_put(f);
}

/* True: all of it was our own doing. Under the lock, which says that what has
 * been read is heeded, too. */
static bool read_fan(void)
{
	static char buf[8192] __attribute__((aligned(8)));
	struct fanotify_event_metadata *ev = (void *)buf;
	bool own = true;
	long n;

	if (!fm_sys_is_anon(fan)) {
		/* the program's, by a system call of its own */
		atomic_fetch_add(&deaf, 1);
		return true;
	}
	atomic_store(&hearing, true);
	n = fm_sys3(SYS_read, fan, buf, sizeof(buf));
	for (; FAN_EVENT_OK(ev, n); ev = FAN_EVENT_NEXT(ev, n)) {
		if (ev->pid == self)
			continue;
		own = false;
		fan_event(ev);
	}
	atomic_store(&hearing, false);
	return own;
}

static bool hear_some(void)
{
	bool own;

	fm_lock(&hear);
	own = read_fan();
	fm_unlock(&hear);
	return own;
}

static bool something_to_hear(void)
{
	int bytes = 0;

	if (!fm_sys_ioctl(fan, FIONREAD, &bytes) && bytes)
		return true;
	/* Last: who takes an event from the queue has said so before. */
	return atomic_load(&hearing);
}

static void hear_all(void)
{
	uint32_t before = fm_open_pending();
	uint64_t old;

	fm_block_signals(&old);
	fm_lock(&hear);
	for (int n = 0; n < HEAR_MOST && something_to_hear(); n++)
		read_fan();
	fm_unlock(&hear);
	if (fm_open_pending() > before)
		fm_watch_nudge();
	fm_restore_signals(&old);
}

/* The kernel queues an event before the write or open that it tells of
 * returns. */
void fm_peers_acquire(void)
{
	/* Not in the middle of a change, of which a library behind us may
	 * know. */
	if (fan < 0 || !fm_active() || fm_signals_blocked || atomic_load(&deaf))
		return;
	if (something_to_hear() && fm_watch_is_us())
		hear_all();
	if (fm_open_pending() && fm_watch_is_us())
		fm_open_word();
}

void fm_filtered(int by, enum fm_filter kind)
{
	if (by > 0)
		fm_creds_look();
	fm_sys_filter(by, kind);
	fm_hear_less(by);
}

static void threads_again(void)
{
	if (fm_krange_any()) {
		fm_helper_need();
		fm_kernel_monitor_need();
	}
	fm_warm_thread_again();
}

/* A filter may be for all threads, and may end the process where one of ours
 * does what the program never does. */
void fm_hear_less(int by)
{
	fm_sys_confine(by);
	atomic_fetch_add(&deaf, by);
	if (by <= 0) {
		threads_again();
		return;
	}
	fm_helper_end();
	fm_warm_thread_end();
	fm_apart_confined();
}

/*
 * Every write of this process to a file that is watched is an event, too. The
 * kernel merges them as long as nobody reads them, so that hearing a moment
 * later saves a wake-up for each write, and the TLB flushes that would
 * interrupt this thread.
 */
static void heard_own(struct pollfd *others)
{
	const struct timespec rest = { 0, fm_tune.watch_rest_ns };
	static uint64_t last;

	if (fm_now_ns() - last < (uint64_t)fm_tune.watch_rest_ns)
		fm_sys5(SYS_ppoll, others, 1, &rest, NULL, 8);
	last = fm_now_ns();
}

/* Has nobody else opened the file since the watch began? Every open is in the
 * queue, or read and being heeded, or noted. */
static bool is_quiet(const struct fm_file *f)
{
	struct pollfd p = { .fd = fan, .events = POLLIN };
	enum fm_claim mine = fm_claim_of(f);

	if (!fm_watch_by_fanotify(f) ||
	    (mine != FM_CLAIM_READ && mine != FM_CLAIM_WRITE) ||
	    fm_sys_poll(&p, 1, 0) != 0)
		return false;
	return !atomic_load(&hearing) && !fm_watch_is_foreign(f) &&
	       !atomic_load(&lost);
}

FM_UP(apart_begun, note_helper)
FM_UP(file_is_quiet, is_quiet)

/* inotify does not tell whose event it is: writes by others cannot be told
 * from our own write-back, so they are not heard on this path; who has the
 * file open for writing is found by the look that follows the open. */
static void read_ino(void)
{
	static char buf[4096] __attribute__((aligned(8)));
	long n = fm_sys_is_anon(ino_fd) ?
			 fm_sys3(SYS_read, ino_fd, buf, sizeof(buf)) : 0;
	const struct inotify_event *ev;

	for (long at = 0; at < n; at += (long)sizeof(*ev) + ev->len) {
		struct fm_file *f;

		ev = (const void *)(buf + at);
		f = fm_watch_by_wd(ev->wd);
		if (!f)
			continue;
		if ((ev->mask & IN_OPEN) && fm_peers_scan(f))
			foreign(f, FAN_OPEN, 0);
		fm_file_put(f);
	}
}

static void rung(void)
{
	fm_bell_empty();
	fm_claims_answer();
	fm_readers_rung();
}

/* With an RLIMIT_NOFILE below n poll(2) refuses: then each is looked at now and
 * then. None of them blocks. */
static int peers_watch_wait_for(struct pollfd *p, unsigned n, int ms)
{
	int got = fm_thread_poll(p, n, ms);

	if (got >= 0 || got == -EINTR)
		return got;
	fm_sys_sleep_us(fm_tune.peers_linger_ms / 2 * 1000);
	for (unsigned k = 0; k < n; k++)
		p[k].revents = p[k].fd < 0 ? 0 : POLLIN;
	return (int)n;
}

static int next_look_ms(void)
{
	const int open = fm_open_wait_ms(), readers = fm_readers_wait_ms();

	return open < 0 || (readers >= 0 && readers < open) ? readers : open;
}

/* The program has closed what is polled, by a call that nobody saw, and may
 * have something else there. Who asks for a file is answered still. */
static int gone_deaf(struct pollfd *p, unsigned n)
{
	fm_log(FM_LOG_WARN, "the program has closed descriptors of fastmap: "
	       "programs that use its files without fastmap are not noticed "
	       "any more");
	atomic_fetch_add(&deaf, 1);
	fm_bell_lost();
	for (unsigned k = 0; k < n; k++)
		p[k].fd = -1;
	return 0;
}

static void *watcher(void *arg)
{
	struct pollfd p[] = {
		{ .fd = bell, .events = POLLIN },
		{ .fd = fan, .events = POLLIN },
		{ .fd = ino_fd, .events = POLLIN },
		{ .fd = nudge, .events = POLLIN },
	};

	fm_thread_begin("fastmap-peers");
	fm_watch_here();
	for (;;) {
		int wait = fm_bell_deaf() ?
				   (int)fm_tune.peers_linger_ms / 2 :
				   next_look_ms();
		int n = peers_watch_wait_for(p, 4, wait);

		if (n > 0 && ((p[0].revents && !fm_sys_is_anon(bell)) ||
			      (p[1].revents && !fm_sys_is_anon(fan))))
			n = gone_deaf(p, 4);
		if (fm_bell_deaf() || (n > 0 && p[0].revents))
			rung();
		if (n > 0 && p[1].revents && hear_some())
			heard_own(p);
		if (n > 0 && p[2].revents)
			read_ino();
		if (n > 0 && p[3].revents)
			fm_nudge_empty();
		fm_readers_look();
		fm_open_answer();
		if (fm_open_pending()) {
			fm_open_look();
			fm_open_judge_all();
		}
	}
	return NULL;
}

/* ---- life -------------------------------------------------------------- */

/* Who closes the last descriptor of such a group waits until nobody looks at
 * its marks any more (SRCU), 3 to 7 ms each. The end of a process would. */
static void keep_groups(void)
{
	fm_rings_keep(bell);
	fm_rings_keep(fan);
	fm_rings_keep(ino_fd);
}

/* Under the space lock. */
int fm_watch_start(void)
{
	int err;

	if (started)
		return 0;
	bell = fm_bell_start();
	fm_marks_start(&fan, &ino_fd);
	nudge = fan < 0 ? -1 : fm_nudge_start();
	for (unsigned k = 0; k < FM_PLACES; k++)
		if (fm_place_fd(k) >= 0)
			fm_bell_hear(k, fm_place_at(k)->fd);
	keep_groups();
	self = fm_sys_getpid();
	started = true;
	fm_thread_will_poll();
	err = fm_thread_create(watcher, NULL);
	fm_watch_runs(!err);
	return err;
}

void fm_watch_reset(void)
{
	if (!started)
		return;
	fm_bell_reset();
	fm_marks_reset();
	bell = fan = ino_fd = nudge = -1;
	fm_lock_reset(&hear);
	fm_open_reset();
	atomic_store(&hearing, false);
	started = false;
}
