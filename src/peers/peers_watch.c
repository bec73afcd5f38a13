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
#include <stdio.h>
#include <string.h>
#include <sys/eventfd.h>
#include <sys/inotify.h>
#include <sys/ioctl.h>

#include "advise/advise.h"
#include "base/apart.h"
#include "base/creds.h"
#include "base/fds.h"
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

#ifndef FAN_REPORT_FID
#define FAN_REPORT_FID 0x200
#endif

static int bell = -1, fan = -1, ino_fd = -1;
static int nudge = -1; /* eventfd: there is something to judge later on */
static int bell_wd[FM_PLACES];
static _Atomic bool bell_deaf; /* a place is not heard: ask */
static bool started;
static int self; /* our process id, while started */
static _Atomic uint32_t thread_id; /* futex; 0: not known yet */
static _Atomic bool begun;

/* By file id. */
static struct watch {
	_Atomic bool foreign;        /* somebody else has used it */
	_Atomic int wd;              /* inotify, else 0 */
	uint64_t fsid;               /* how fanotify names it */
	uint32_t handle_len, handle_type;
	unsigned char handle[64];
	struct timespec changed;     /* when the watch began, */
	bool fine;                   /* and it tells any change since */
} watches[FM_MAX_FILES];
static struct fm_lock hear = FM_LOCK(FM_RANK_HEAR);
static _Atomic bool hearing;     /* events have been read, but not heeded */
static _Atomic bool lost;        /* events have been lost, at any time */
static _Atomic int deaf;         /* threads of the program are in a sandbox */

/* ---- marks ------------------------------------------------------------- */

#define FAN_MASK (FAN_OPEN | FAN_MODIFY | FAN_CLOSE)
#define INO_MASK (IN_OPEN | IN_MODIFY | IN_CLOSE)

/* Events carry a file handle instead of a descriptor: know ours. */
static bool remember_handle(struct fm_file *f, struct watch *w)
{
	struct {
		struct file_handle h;
		unsigned char room[sizeof(w->handle)];
	} h = { .h.handle_bytes = sizeof(w->handle) };
	char path[FM_PROC_FD];
	int mount;
	struct {
		long type, bsize;
		uint64_t blocks[5];
		uint64_t fsid;
		long more[8];
	} sf;

	fm_proc_fd(path, f->io->path);
	if (fm_sys5(SYS_name_to_handle_at, AT_FDCWD, path, &h, &mount,
		    AT_SYMLINK_FOLLOW) ||
	    fm_sys2(SYS_statfs, path, &sf))
		return false;
	memcpy(w->handle, h.h.f_handle, h.h.handle_bytes);
	w->handle_len = h.h.handle_bytes;
	w->handle_type = (uint32_t)h.h.handle_type;
	w->fsid = sf.fsid;
	return true;
}

static struct timespec peers_watch_changed(const struct fm_file *f)
{
	struct stat st = { 0 };

	fm_sys_fstat(f->io->path, &st);
	return st.st_ctim;
}

/* Has nobody changed it since the watch began, we included? A store through a
 * mapping changes it, too, with the first of a page. */
static bool untouched(const struct fm_file *f)
{
	const struct watch *w = &watches[f->id];
	struct timespec now = peers_watch_changed(f);

	return w->fine && now.tv_sec == w->changed.tv_sec &&
	       now.tv_nsec == w->changed.tv_nsec;
}

int fm_watch_add(struct fm_file *f)
{
	struct watch *w = &watches[f->id];
	char path[FM_PROC_FD];
	int err = -ENOSYS;

	fm_proc_fd(path, f->io->path);
	if (!w->handle_len) { /* not for the second claim: pages are there */
		w->changed = peers_watch_changed(f);
		w->fine = fm_fine_times(f->io->path);
	}
	atomic_store(&w->foreign, false);
	if (fan >= 0 && remember_handle(f, w))
		err = (int)fm_sys5(SYS_fanotify_mark, fan, FAN_MARK_ADD,
				   FAN_MASK, AT_FDCWD, path);
	if (err && ino_fd >= 0) {
		err = (int)fm_sys3(SYS_inotify_add_watch, ino_fd, path,
				   INO_MASK);
		if (err > 0) {
			atomic_store(&w->wd, err);
			err = 0;
		}
	}
	if (err)
		fm_log(FM_LOG_INFO, "%s: cannot watch for other processes, "
		       "errno %d: %s", f->path, -err, fm_error_text(-err));
	return err;
}

void fm_watch_drop(struct fm_file *f)
{
	struct watch *w = &watches[f->id];
	char path[FM_PROC_FD];

	fm_proc_fd(path, f->io->path);
	if (atomic_load(&w->wd))
		fm_sys2(SYS_inotify_rm_watch, ino_fd, atomic_load(&w->wd));
	else if (w->handle_len)
		fm_sys5(SYS_fanotify_mark, fan, FAN_MARK_REMOVE, FAN_MASK,
			AT_FDCWD, path);
	atomic_store(&w->wd, 0);
	w->handle_len = 0;
	fm_open_forget(f);
}

/* ---- what happened ----------------------------------------------------- */

static void foreign(struct fm_file *f, uint64_t mask, int pid)
{
	atomic_store(&watches[f->id].foreign, true);
	if (fm_kernel_serves(f))
		return;
	if (mask & FAN_OPEN) {
		fm_shared_maybe(f);
		fm_open_seen(f, pid);
	}
	if ((mask & (FAN_MODIFY | FAN_CLOSE_WRITE)) && !untouched(f)) {
		if ((mask & FAN_CLOSE_WRITE) && fm_open_wrote(f))
			return;
		fm_peers_refresh(f);
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

/* The file with a reference, found by what identifies it. */
static struct fm_file *peers_watch_pick(bool (*is)(const struct watch *,
						   const void *),
					const void *what)
{
	struct fm_file *f = NULL;
	uint64_t old;

	fm_space_lock(&old);
	for (uint32_t id = 0; id < fm_file_top() && !f; id++) {
		if (is(&watches[id], what))
			f = fm_file_at(id);
	}
	if (f)
		fm_file_get(f);
	fm_space_unlock(&old);
	return f;
}

static bool is_wd(const struct watch *w, const void *what)
{
	return atomic_load(&w->wd) == *(const int *)what;
}

static bool is_handle(const struct watch *w, const void *what)
{
	const struct fanotify_event_info_fid *fid = what;
	const struct file_handle *h = (const void *)fid->handle;

	return w->handle_len && w->handle_len == h->handle_bytes &&
	       w->handle_type == (uint32_t)h->handle_type &&
	       !memcmp(&w->fsid, &fid->fsid, sizeof(w->fsid)) &&
	       !memcmp(w->handle, h->f_handle, w->handle_len);
}

static void fan_event(const struct fanotify_event_metadata *ev)
{
	const void *fid = ev + 1;
	struct fm_file *f;

	if (ev->mask & FAN_Q_OVERFLOW) {
		atomic_store(&lost, true);
		fm_registry_notify(); /* and everybody looks again */
		return;
	}
	if (ev->event_len < ev->metadata_len +
				    sizeof(struct fanotify_event_info_fid))
		return;
	f = peers_watch_pick(is_handle, fid);
	if (!f)
		return;
	/* Asked after the space lock has been ours: a helper is known then. */
	if (!is_helper(ev->pid) && !(ev->pid && ev->pid == fm_backup_pid()) &&
	    !(ev->mask == FAN_CLOSE_WRITE &&
	      !atomic_load(&watches[f->id].foreign) &&
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
		fm_hear_less(1);
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

void fm_watch_nudge(void)
{
	const uint64_t one = 1;

	if (fm_sys_is_anon(nudge))
		fm_sys3(SYS_write, nudge, &one, sizeof(one));
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

void fm_filtered(int by, bool all)
{
	if (by > 0)
		fm_creds_look();
	fm_sys_filter(by, all);
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

bool fm_watch_is_us(void)
{
	return fm_sys_getpid() == self;
}

bool fm_watch_by_inotify(const struct fm_file *f)
{
	return atomic_load(&watches[f->id].wd) != 0;
}

/* Has nobody else opened the file since the watch began? Every open is in the
 * queue, or read and being heeded, or noted. */
static bool is_quiet(const struct fm_file *f)
{
	struct pollfd p = { .fd = fan, .events = POLLIN };
	const struct watch *w = &watches[f->id];
	enum fm_claim mine = fm_peers_claim_of(f);

	if (fan < 0 || !w->handle_len || atomic_load(&w->wd) ||
	    (mine != FM_CLAIM_READ && mine != FM_CLAIM_WRITE) ||
	    fm_sys_poll(&p, 1, 0) != 0)
		return false;
	return !atomic_load(&hearing) && !atomic_load(&w->foreign) &&
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
		f = peers_watch_pick(is_wd, &ev->wd);
		if (!f)
			continue;
		if ((ev->mask & IN_OPEN) && fm_peers_scan(f))
			foreign(f, FAN_OPEN, 0);
		fm_file_put(f);
	}
}

void fm_watch_place(unsigned k)
{
	char path[FM_PROC_FD];

	if (bell < 0)
		return;
	if (bell_wd[k] > 0)
		fm_sys2(SYS_inotify_rm_watch, bell, bell_wd[k]);
	fm_proc_fd(path, fm_place_at(k)->fd);
	bell_wd[k] = (int)fm_sys3(SYS_inotify_add_watch, bell, path,
				  IN_MODIFY | IN_ATTRIB | IN_DELETE_SELF |
					  IN_MOVE_SELF);
	if (bell_wd[k] < 0)
		atomic_store(&bell_deaf, true);
}

static void watch_places(void)
{
	memset(bell_wd, 0, sizeof(bell_wd));
	atomic_store(&bell_deaf, bell < 0);
	for (unsigned k = 0; k < FM_PLACES; k++)
		if (fm_place_at(k)->fd >= 0)
			fm_watch_place(k);
}

static void read_bell(void)
{
	static char buf[4096];

	while (fm_sys_is_anon(bell) &&
	       fm_sys3(SYS_read, bell, buf, sizeof(buf)) > 0)
		;
	fm_peers_answer();
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

static void *watcher(void *arg)
{
	struct pollfd p[5] = {
		{ .fd = bell, .events = POLLIN },
		{ .fd = fan, .events = POLLIN },
		{ .fd = ino_fd, .events = POLLIN },
		{ .fd = nudge, .events = POLLIN },
	};
	uint64_t nudges;

	fm_thread_begin("fastmap-peers");
	atomic_store(&thread_id, (uint32_t)fm_sys0(SYS_gettid));
	fm_futex_wake(&thread_id, 1);
	for (;;) {
		int wait = atomic_load(&bell_deaf) ?
				   (int)fm_tune.peers_linger_ms / 2 :
				   next_look_ms();
		int n = peers_watch_wait_for(p, 4, wait);

		if (n > 0 && (p[0].revents & POLLNVAL)) {
			fm_log(FM_LOG_WARN, "the program has closed "
			       "descriptors of fastmap: other users of its "
			       "files are not noticed any more");
			fm_hear_less(1);
			return NULL;
		}
		if (atomic_load(&bell_deaf) || (n > 0 && p[0].revents))
			read_bell();
		if (n > 0 && p[1].revents && hear_some())
			heard_own(p);
		if (n > 0 && p[2].revents)
			read_ino();
		if (n > 0 && p[3].revents && fm_sys_is_anon(nudge))
			fm_sys3(SYS_read, nudge, &nudges, sizeof(nudges));
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

static int raise_or_none(long fd)
{
	return fd < 0 ? -1 : fm_fd_raise((int)fd);
}

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
	bell = raise_or_none(fm_sys1(SYS_inotify_init1,
				     IN_CLOEXEC | IN_NONBLOCK));
	fan = raise_or_none(fm_sys2(SYS_fanotify_init,
				    FAN_CLASS_NOTIF | FAN_REPORT_FID |
					    FAN_CLOEXEC | FAN_NONBLOCK,
				    O_RDONLY | O_LARGEFILE));
	if (fan < 0)
		ino_fd = raise_or_none(fm_sys1(SYS_inotify_init1,
					       IN_CLOEXEC | IN_NONBLOCK));
	if (fan >= 0)
		nudge = raise_or_none(fm_sys2(SYS_eventfd2, 0,
					      EFD_CLOEXEC | EFD_NONBLOCK));
	watch_places();
	keep_groups();
	self = fm_sys_getpid();
	started = true;
	fm_thread_will_poll();
	err = fm_thread_create(watcher, NULL);
	atomic_store(&begun, err == 0);
	return err;
}

/* The first file is asked for when the thread has just been made: to wait for
 * it is less than the look into /proc that the answer saves. */
int fm_watch_tid(void)
{
	struct timespec most = { 0, 10000000 };

	if (atomic_load(&begun) && !atomic_load(&thread_id))
		fm_futex_wait(&thread_id, 0, &most);
	return (int)atomic_load(&thread_id);
}

void fm_watch_reset(void)
{
	if (!started)
		return;
	fm_fd_drop(bell);
	fm_fd_drop(fan);
	fm_fd_drop(ino_fd);
	fm_fd_drop(nudge);
	bell = fan = ino_fd = nudge = -1;
	fm_lock_reset(&hear);
	fm_sys_clear(watches, sizeof(watches));
	fm_open_reset();
	atomic_store(&thread_id, 0);
	atomic_store(&begun, false);
	atomic_store(&hearing, false);
	started = false;
}
