/* SPDX-License-Identifier: MIT */
#include "guardian.h"

#include <linux/kcmp.h>
#include <linux/sched.h>
#include <poll.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <sys/wait.h>

#include "base/creds.h"
#include "base/fds.h"
#include "base/life.h"
#include "base/log.h"
#include "base/sys.h"
#include "base/tls.h"
#include "engine.h"
#include "file/file.h"
#include "io/io.h"
#include "map/map.h"
#include "peers/peers.h"
#include "policy.h"

#define STACK 65536 /* size: bytes */
#define KEEP 96        /* descriptors it may keep */

enum { STARTING, READY, FAILED };

static struct {
	_Atomic uint32_t state; /* futex */
	/* futex; orders to take the program's user ids: given, carried out */
	_Atomic uint32_t order, done;
	_Atomic bool other_user; /* the program is another user by now */
	int pipe[2];            /* its end seen as HUP when exec closes [1] */
	char *mem;              /* TLS, stack, the go-between's stack and TLS */
	int child;              /* its pid, to be waited for; 0: not ours */
	bool adopted;           /* it shall be no child of the program */
} g = { .pipe = { -1, -1 } };

/* ---- in the guardian --------------------------------------------------- */

#define STACK_BEGIN 28 /* ABI: in a process's stat */

/* Where the stack begins in the memory of a process; 0: that is not told. */
static uint64_t stack_begin(const char *path)
{
	char state;

	return fm_proc_stat(path, STACK_BEGIN, &state);
}

/* Where kcmp is refused, or the kernel has none: exec makes a stack elsewhere,
 * as a rule. */
static bool other_stack(const char *statm)
{
	char stat[32] = { 0 };
	uint64_t its;

	memcpy(stat, statm, strlen(statm) - 1); /* without the m */
	its = stack_begin(stat);
	return its && its != stack_begin("/proc/self/stat");
}

/* Is the owner's process alive in memory of its own? Then it has executed
 * something and nobody is left in ours. The order matters: a main thread that
 * has ended has no memory at all (statm is 0) while its other threads go on
 * storing in ours, and no memory never becomes new memory except by exec. */
static bool has_left(const char *statm)
{
	long other = fm_sys5(SYS_kcmp, fm_backup.owner, fm_sys_getpid(),
			     KCMP_VM, 0, 0);
	char buf[16];
	int fd;
	long n;

	if (!other || (other < 0 && !other_stack(statm)))
		return false;
	fd = fm_sys_open(statm, O_RDONLY, 0);
	n = fd < 0 ? 0 : fm_sys3(SYS_read, fd, buf, sizeof(buf));
	if (fd >= 0)
		fm_sys_close(fd);
	return n > 1 && buf[0] != '0';
}

static void statm_path(char *buf, int pid)
{
	char digits[12];
	int n = 0;

	memcpy(buf, "/proc/", 6);
	buf += 6;
	do
		digits[n++] = (char)('0' + pid % 10);
	while (pid /= 10);
	while (n)
		*buf++ = digits[--n];
	memcpy(buf, "/statm", 7);
}

static void guardian_obey(void)
{
	uint32_t n = atomic_load(&g.order);

	if (atomic_load(&g.done) == n)
		return;
	atomic_store(&g.other_user, !fm_creds_take_unlocked());
	atomic_store(&g.done, n);
	fm_futex_wake(&g.done, 1);
}

/* Returns when nobody uses this memory any more; true: the program has executed
 * something. */
static bool guardian_watch(int pidfd)
{
	struct pollfd p[3] = {
		{ .fd = pidfd, .events = POLLIN },
		{ .fd = g.pipe[0], .events = 0 },
		{ .fd = fm_backup.sock[1], .events = POLLIN },
	};
	char statm[40];

	statm_path(statm, fm_backup.owner);
	for (;;) {
		int n = fm_sys_poll(p, 3, FM_SECOND_MS);

		while (fm_backup.sock[1] >= 0 &&
		       fm_backup_take(fm_backup.sock[1]))
			;
		guardian_obey();
		if (n > 0 && p[0].revents)
			return false;
		if (n <= 0 || p[1].revents) {
			if (has_left(statm))
				return true;
			if (n > 0) /* closed, not executed: rely on looking */
				p[1].fd = -1;
		}
		if (n > 0 && (p[2].revents & (POLLHUP | POLLERR)))
			p[2].fd = -1;
	}
}

/* Rings and userfaultfd have no file type; everything else we do not want to
 * keep alive: a deleted file would hold its space. */
static bool worth_keeping(int fd)
{
	struct stat st;

	return fm_sys_fstat(fd, &st) == 0 && (st.st_mode & S_IFMT) == 0;
}

/* Close all but keep[0..n). Small n: select the next larger again and again. */
static void close_others(const int *keep, int n)
{
	int from = 0;

	for (;;) {
		int next = INT32_MAX;

		for (int i = 0; i < n; i++)
			if (keep[i] >= from && keep[i] < next)
				next = keep[i];
		if (next == INT32_MAX)
			break;
		if (next > from)
			fm_sys3(SYS_close_range, from, next - 1, 0);
		from = next + 1;
	}
	fm_sys3(SYS_close_range, from, ~0u, 0);
}

static void keep_what_we_need(int pidfd, int pagemap)
{
	int keep[KEEP], n = 0;

	keep[n++] = pidfd;
	keep[n++] = pagemap;
	keep[n++] = g.pipe[0];
	keep[n++] = fm_backup.sock[1];
	for (unsigned k = 0; k < FM_CLAIM_FDS; k++)
		keep[n++] = fm_backup.kept[FM_BACKUP_PLACE + k];
	for (int fd = fm_fd_next(0); fd >= 0 && n < KEEP;
	     fd = fm_fd_next(fd + 1))
		if (worth_keeping(fd))
			keep[n++] = fd;
	close_others(keep, n);
}

static void guardian_main(void *arg)
{
	struct fm_guard_files files = { -1, fm_backup.file_fd };
	int pidfd = (int)fm_sys2(SYS_pidfd_open, fm_backup.owner, 0);
	bool executed;

	fm_sys5(SYS_prctl, PR_SET_NAME, "fastmap-guard", 0, 0, 0);
	fm_creds_begin();
	/* Otherwise Yama (Ubuntu has it) keeps the descriptors of an orphan
	 * from who is not root. */
	fm_sys5(SYS_prctl, PR_SET_PTRACER, fm_backup.owner, 0, 0, 0);
	fm_sys0(SYS_setsid); /* kill(0) and Ctrl-C are not for us */
	fm_sys1(SYS_chdir, "/");
	files.pagemap = fm_sys_open("/proc/self/pagemap", O_RDONLY, 0);
	keep_what_we_need(pidfd, files.pagemap);
	atomic_store(&g.state, pidfd < 0 ? FAILED : READY);
	fm_futex_wake(&g.state, 1);
	if (pidfd >= 0) {
		executed = guardian_watch(pidfd);
		guardian_obey();
		fm_guardian_flush(&files);
		fm_rings_release_dead(fm_file_top());
		if (!atomic_load(&g.other_user)) /* not with his rights */
			fm_life_dead(fm_backup.owner, executed);
	}
	/* Claims on files go first: the end of our memory may take seconds. */
	close_others(NULL, 0);
	fm_sys1(SYS_exit_group, 0);
}

/* ---- start ------------------------------------------------------------- */

static long clone_guardian(void)
{
	long flags = CLONE_VM | CLONE_UNTRACED | CLONE_SETTLS |
		     CLONE_PARENT_SETTID | CLONE_CHILD_CLEARTID;

	return fm_sys_clone_on(flags, g.mem + fm_tls_size() + STACK,
			       guardian_main, NULL, &fm_backup.tid,
			       fm_tls_block(g.mem));
}

/* Who ends is somebody's to reap, and a process that orphans come to may not
 * expect any. So the guardian is the program's own child, which the program
 * ends and reaps. It raises no signal: no wait sees it that does not ask for
 * such. */
static void guardian_reap(void)
{
	if (g.child)
		fm_sys4(SYS_wait4, g.child, NULL,
			WNOHANG | 0x80000000 /* __WCLONE */, NULL);
	g.child = 0;
}

static long spawn_own(void)
{
	g.child = (int)clone_guardian();
	return g.child;
}

/* The go-between ends at once, so that the guardian is nobody's child here:
 * whatever the program waits for, and whatever it executes. */
static void between_main(void *arg)
{
	if (clone_guardian() < 0)
		atomic_store(&g.state, FAILED);
}

static long spawn_by_another(void)
{
	long flags = CLONE_VM | CLONE_FILES | CLONE_VFORK | CLONE_UNTRACED |
		     CLONE_SETTLS;
	char *top = g.mem + fm_tls_size() + 2 * STACK;
	long pid;

	fm_tls_clean(top);
	pid = fm_sys_clone_on(flags, top, between_main, NULL, NULL,
			      fm_tls_block(top));

	if (pid > 0)
		while (fm_sys4(SYS_wait4, pid, NULL, 0x40000000 /* __WALL */,
			       NULL) == -EINTR)
			;
	return pid;
}

/* Orphans become our own children: the first process of a container. */
static bool gets_orphans(void)
{
	int yes = 0;

	fm_sys2(SYS_prctl, PR_GET_CHILD_SUBREAPER, &yes);
	return yes || fm_sys_getpid() == 1;
}

static int spawn(void)
{
	struct timespec limit = { 5, 0 };
	uint64_t all = ~0ull, old;
	long pid;

	guardian_reap();
	atomic_store(&g.state, STARTING);
	fm_sys4(SYS_rt_sigprocmask, 2, &all, &old, 8);
	pid = g.adopted && !gets_orphans() ? spawn_by_another() : spawn_own();
	fm_sys4(SYS_rt_sigprocmask, 2, &old, NULL, 8);
	if (pid < 0) {
		g.child = 0;
		return (int)pid;
	}
	while (atomic_load(&g.state) == STARTING)
		if (fm_futex_wait(&g.state, STARTING, &limit) == -ETIMEDOUT)
			break;
	return atomic_load(&g.state) == READY ? 0 : -EAGAIN;
}

static void close_ends(void)
{
	fm_fd_drop(g.pipe[1]);
	fm_fd_drop(fm_backup.sock[0]);
	g.pipe[0] = g.pipe[1] = fm_backup.sock[0] = fm_backup.sock[1] = -1;
}

static int open_ends(void)
{
	int err = (int)fm_sys2(SYS_pipe2, g.pipe, O_CLOEXEC);

	if (!err)
		err = (int)fm_sys4(SYS_socketpair, AF_UNIX,
				   SOCK_SEQPACKET | SOCK_CLOEXEC, 0,
				   fm_backup.sock);
	return err;
}

/* The guardian's ends live in its table only. */
static void own_ends(void)
{
	fm_sys_close(g.pipe[0]);
	g.pipe[1] = fm_fd_raise(g.pipe[1]);
	if (fm_backup.sock[1] >= 0) {
		fm_sys_close(fm_backup.sock[1]);
		fm_backup.sock[0] = fm_fd_raise(fm_backup.sock[0]);
		fm_sys_fstat(fm_backup.sock[0], &fm_backup.sock_is);
	}
}

/* The guardian closes what it must not keep. The raised numbers do not exist in
 * its table yet, so that the program's ends have to be closed there explicitly:
 * close_others does. */
static int guardian_start(void)
{
	int err;

	if (!g.mem)
		g.mem = fm_sys_anon(2 * (fm_tls_size() + STACK));
	if (!g.mem)
		return -ENOMEM;
	fm_tls_clean(g.mem);
	close_ends();
	memset(fm_backup.file_fd, 0xff, sizeof(fm_backup.file_fd));
	fm_backup.owner = fm_sys_getpid();
	atomic_store(&g.other_user, false);
	atomic_store(&g.done, atomic_load(&g.order));
	fm_backup.kept[FM_BACKUP_UFFD] = fm_uffd_fd();
	fm_backup.kept[FM_BACKUP_HOME] = fm_home_guarded();
	fm_peers_fds(&fm_backup.kept[FM_BACKUP_PLACE]);
	err = open_ends();
	if (err)
		return err;
	err = spawn();
	own_ends();
	return err;
}

/* Idempotent; a guardian that was killed is started again. */
static int start_guardian(void)
{
	static bool warned;
	struct fm_file *f;
	int err;

	if (!fm_settings()->guardian || fm_backup_pid())
		return 0;
	err = guardian_start();
	if (!err) {
		fm_for_each_file(f, id)
			fm_backup_add(f);
	} else if (!warned) {
		warned = true;
		fm_log(FM_LOG_WARN,
		       "no guardian process, errno %d: %s; what is dirty when "
		       "the program is killed is lost%s", -err,
		       fm_error_text(-err),
		       err == -EAGAIN ? " (raise ulimit -u)" : "");
	}
	return err;
}

static void kill_guardian(int pid)
{
	const struct timespec limit = { 1, 0 };
	int pidfd = (int)fm_sys2(SYS_pidfd_open, pid, 0);
	struct pollfd p = { .fd = pidfd, .events = POLLIN };

	if (pidfd < 0)
		return;
	if (fm_backup_pid() == pid && /* nobody else's number by now */
	    !fm_sys4(SYS_pidfd_send_signal, pidfd, 9 /* SIGKILL */, NULL, 0))
		fm_sys5(SYS_ppoll, &p, 1, &limit, NULL, 8);
	fm_sys_close(pidfd);
}

void fm_guardian_end(void)
{
	int pid = fm_backup_pid();

	if (fm_sys_getpid() != fm_backup.owner)
		return;
	if (pid)
		kill_guardian(pid);
	guardian_reap();
}

int fm_guardian_disown(void)
{
	if (!fm_backup_pid() || fm_sys_getpid() != fm_backup.owner ||
	    g.adopted || gets_orphans())
		return 0;
	g.adopted = true;
	fm_guardian_end();
	return start_guardian();
}

/* A thread that stores is stopped by nobody meanwhile, but what it has stored
 * before is in the file. */
void fm_engine_waits_for_all(void)
{
	if (!g.child || !fm_life_is_owner() || fm_sys_confined())
		return;
	fm_engine_flush_all();
	FM_HOLD_SPACE();
	fm_guardian_disown();
}

/* The guardian is the parent's. */
static void guardian_reset(void)
{
	close_ends();
	atomic_store(&fm_backup.tid, 0);
	g.child = 0;
	g.adopted = false;
}

/* The message wakes it. One that does not come is found within
 * FM_SECOND_MS. */
static bool guardian_follow(void)
{
	const struct timespec ms = { 0, 10000000 };
	const uint64_t until = fm_now_ms() + 2 * FM_SECOND_MS;
	uint32_t n, done;

	if (!fm_backup_pid() || fm_sys_getpid() != fm_backup.owner)
		return true;
	n = atomic_fetch_add(&g.order, 1) + 1;
	fm_backup_nudge();
	while ((done = atomic_load(&g.done)) != n && fm_backup_pid()) {
		if (fm_now_ms() >= until)
			return false;
		fm_futex_wait(&g.done, done, &ms);
	}
	return true;
}

FM_UP(backup_begin, start_guardian)
FM_UP(creds_follow, guardian_follow)
FM_LIFE(guardian, .level = FM_LIFE_HELPERS, .reset = guardian_reset)
