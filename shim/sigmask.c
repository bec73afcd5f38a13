/* SPDX-License-Identifier: MIT */
/*
 * sigmask.c - SIGBUS is never blocked in the kernel: a fault while it is
 * blocked kills the process. Every call that sets a signal mask has the bit
 * deleted on its way to the kernel; each thread remembers here what the
 * program believes and gets that back. A SIGBUS sent by kill or raise is held
 * back as long as the program believes that it is blocked, for which our
 * handler has to be there.
 */
#include "shim.h"

typedef int (*mask_fn)(int, const sigset_t *, sigset_t *);

extern int __xpg_sigpause(int sig);
extern int __sigpause(int sig_or_mask, int is_sig);

FM_NEXT(sigprocmask)
FM_NEXT(pthread_sigmask)
FM_NEXT(sigsuspend)
FM_NEXT(sigpending)
FM_NEXT(sigtimedwait)

/* ---- the program's view ----------------------------------------------- */

static FM_TLS struct {
	bool blocked;
	/* A vfork child shares this memory with its suspended parent. */
	bool child_blocked;
	int child_pid;
	bool held;           /* sent to this thread, held back */
	siginfo_t held_info;
} view;

/* Sent to the process, held back: the next thread that unblocks or waits for
 * it takes it. `waiter` is a thread inside sigwait. */
static struct {
	struct fm_lock lock;
	_Atomic bool held;
	siginfo_t info;
	_Atomic int waiter;
} process = { .lock = FM_LOCK(FM_RANK_LEAF) };

bool fm_view_blocked(void)
{
	if (view.child_pid && view.child_pid == fm_sys_getpid())
		return view.child_blocked;
	return view.blocked;
}

static bool queue_to(int tid, const siginfo_t *info)
{
	return !fm_sys4(SYS_rt_tgsigqueueinfo, fm_sys_getpid(), tid, SIGBUS,
			info);
}

static void process_hold(const siginfo_t *info)
{
	int tid = atomic_load(&process.waiter);

	/* The wait may have been cancelled meanwhile. */
	if (tid && queue_to(tid, info))
		return;
	fm_lock_quietly(&process.lock);
	if (!atomic_load(&process.held)) {
		process.info = *info;
		atomic_store(&process.held, true);
	}
	fm_unlock(&process.lock);
}

/* Signals that are not real-time do not queue: the first one counts. */
void fm_bus_hold(const siginfo_t *info)
{
	if (info->si_code != SI_TKILL) {
		process_hold(info);
	} else if (!view.held) {
		view.held_info = *info;
		view.held = true;
	}
}

static bool something_held(void)
{
	return view.held ||
	       atomic_load_explicit(&process.held, memory_order_relaxed);
}

/* Called with the view blocked or all signals blocked, so that the handler
 * does not interrupt between test and copy on this thread. */
static bool take_held(siginfo_t *ret)
{
	uint64_t all = ~0ull, old;
	bool got = false;

	fm_sys4(SYS_rt_sigprocmask, SIG_SETMASK, &all, &old, 8);
	if (view.held) {
		*ret = view.held_info;
		view.held = false;
		got = true;
	} else {
		fm_lock_quietly(&process.lock);
		if (atomic_load(&process.held)) {
			*ret = process.info;
			atomic_store(&process.held, false);
			got = true;
		}
		fm_unlock(&process.lock);
	}
	fm_restore_signals(&old);
	return got;
}

/* Returns whether a held signal was released. */
static bool view_set(bool blocked)
{
	siginfo_t info;

	if (blocked == fm_view_blocked() && !view.child_pid)
		return false;
	if (fm_whoami() == FM_VFORK_CHILD) {
		view.child_blocked = blocked;
		view.child_pid = fm_sys_getpid();
		return false;
	}
	view.child_pid = 0;
	view.blocked = blocked;
	if (blocked && !fm_bus_taken())
		fm_sig_install();
	if (blocked || !something_held() || !take_held(&info))
		return false;
	queue_to(fm_sys_gettid(), &info);
	return true;
}

void fm_view_set(bool blocked)
{
	view_set(blocked);
}

/* Around fork, so that the child does not inherit a lock held elsewhere. */
void fm_mask_fork_lock(void)
{
	fm_lock_quietly(&process.lock);
}

void fm_mask_fork_unlock(void)
{
	fm_unlock(&process.lock);
}

/* Pending signals are not inherited. */
void fm_mask_fork_child(void)
{
	if (view.held)
		view.held = false;
	atomic_store(&process.held, false);
	atomic_store(&process.waiter, 0);
}

/* The mask is inherited over exec: open SIGBUS, remember what it was. */
void fm_sig_boot(void)
{
	uint64_t bit = FM_BUS_BIT, old = 0;

	fm_sys4(SYS_rt_sigprocmask, SIG_UNBLOCK, &bit, &old, 8);
	if (old & FM_BUS_BIT)
		fm_view_set(true);
}

/* ---- masks ------------------------------------------------------------ */

/* Returns true when the program's set has SIGBUS. Sets are copied: the
 * program's may lie in managed memory, and only 8 bytes are the kernel's. */
static bool strip(const sigset_t *set, sigset_t *ret)
{
	const unsigned long bits = set->__val[0];

	sigemptyset(ret);
	ret->__val[0] = bits & ~FM_BUS_BIT;
	return bits & FM_BUS_BIT;
}

static bool new_view(int how, bool was, bool bus)
{
	if (how == SIG_BLOCK)
		return was || bus;
	if (how == SIG_UNBLOCK)
		return was && !bus;
	return bus;
}

static bool sigmask_managed(const void *p)
{
	return p && fm_looks() && fm_data_in(p, 8);
}

/* The kernel fills `old` and judges the pointer; the program's may lie in
 * managed memory, and then gets a copy. libc reads `set` itself. */
static int change_mask(mask_fn next, int how, const sigset_t *set,
		       sigset_t *old)
{
	const bool was = fm_view_blocked();
	const bool copied = sigmask_managed(old);
	sigset_t in, out;
	bool has_bus = false;
	int r;

	if (set)
		has_bus = strip(set, &in);
	r = next(how, set ? &in : NULL, copied ? &out : old);
	if (r)
		return r;
	if (old && was)
		(copied ? &out : old)->__val[0] |= FM_BUS_BIT;
	if (copied)
		fm_user_write(old, &out, 8);
	if (set)
		fm_view_set(new_view(how, was, has_bus));
	return 0;
}

FM_HOOK int sigprocmask(int how, const sigset_t *set, sigset_t *old)
{
	if (!fm_on())
		return FM_PASS_SET(sigprocmask, SYS_rt_sigprocmask, how, set,
				   old);
	return change_mask(FM_FOUND(sigprocmask), how, set, old);
}

/* Returns the error number. */
FM_HOOK int pthread_sigmask(int how, const sigset_t *set, sigset_t *old)
{
	if (!FM_FOUND(pthread_sigmask))
		return -(int)fm_syscall(SYS_rt_sigprocmask, how, set, old, 8);
	if (!fm_on())
		return FM_FOUND(pthread_sigmask)(how, set, old);
	return change_mask(FM_FOUND(pthread_sigmask), how, set, old);
}

static int change_one(int how, int sig)
{
	sigset_t set;

	sigemptyset(&set);
	if (sigaddset(&set, sig))
		return -1;
	return sigprocmask(how, &set, NULL);
}

FM_HOOK int sighold(int sig)
{
	return change_one(SIG_BLOCK, sig);
}

FM_HOOK int sigrelse(int sig)
{
	return change_one(SIG_UNBLOCK, sig);
}

/* 4.2BSD: masks are ints. */
static int change_int(int how, int mask)
{
	sigset_t set, old;

	sigemptyset(&set);
	set.__val[0] = (unsigned)mask;
	if (sigprocmask(how, &set, &old))
		return -1;
	return (int)old.__val[0];
}

FM_HOOK int sigblock(int mask)
{
	return change_int(SIG_BLOCK, mask);
}

FM_HOOK int sigsetmask(int mask)
{
	return change_int(SIG_SETMASK, mask);
}

FM_HOOK int siggetmask(void)
{
	return change_int(SIG_BLOCK, 0);
}

FM_HOOK int sigpending(sigset_t *set)
{
	const bool copied = sigmask_managed(set);
	sigset_t out;

	if (!FM_FOUND(sigpending) || !fm_on())
		return FM_PASS_SET(sigpending, SYS_rt_sigpending, set);
	if (FM_FOUND(sigpending)(copied ? &out : set))
		return -1;
	if (fm_view_blocked() && something_held())
		(copied ? &out : set)->__val[0] |= FM_BUS_BIT;
	if (copied && !fm_user_write(set, &out, 8))
		return (int)fm_result(-EFAULT);
	return 0;
}

/* ---- calls that wait under another mask -------------------------------- */

/* A mask is read before the kernel sees it. Nothing is asked of the kernel for
 * that while nothing of ours is in use: a bad one faults then. */
bool fm_mask_read(sigset_t *ret, const sigset_t *mask)
{
	if (fm_active() || fm_bus_taken())
		return fm_user_read(ret, mask, 8);
	if ((uintptr_t)mask < 4096)
		return false;
	ret->__val[0] = mask->__val[0];
	return true;
}

/* False: the mask cannot be read, or released a SIGBUS, whose handler has run
 * by now. The call then ends with EINTR, as if it had arrived inside. */
bool fm_wait_enter(struct fm_wait *w, const sigset_t *mask)
{
	w->was_blocked = fm_view_blocked();
	if (!fm_mask_read(&w->mask, mask)) {
		errno = EFAULT;
		return false;
	}
	if (!view_set(strip(&w->mask, &w->mask)))
		return true;
	view_set(w->was_blocked);
	errno = EINTR;
	return false;
}

void fm_wait_leave(const struct fm_wait *w)
{
	view_set(w->was_blocked);
}

FM_HOOK int sigsuspend(const sigset_t *mask)
{
	struct fm_wait w;
	int r;

	if (!fm_on() || !FM_FOUND(sigsuspend))
		return FM_PASS_SET(sigsuspend, SYS_rt_sigsuspend, mask);
	if (!fm_wait_enter(&w, mask))
		return -1;
	r = FM_FOUND(sigsuspend)(&w.mask);
	fm_wait_leave(&w);
	return r;
}

FM_DO_ALIAS(sigsuspend, __sigsuspend)

FM_HOOK int __xpg_sigpause(int sig)
{
	sigset_t set;

	if (sigprocmask(SIG_BLOCK, NULL, &set) || sigdelset(&set, sig))
		return -1;
	return sigsuspend(&set);
}

FM_HOOK int __sigpause(int sig_or_mask, int is_sig)
{
	sigset_t set;

	if (is_sig)
		return __xpg_sigpause(sig_or_mask);
	sigemptyset(&set);
	set.__val[0] = (unsigned)sig_or_mask;
	return sigsuspend(&set);
}

/* The header maps the C name to __xpg_sigpause; this is the BSD one. */
FM_HOOK int fm_bsd_sigpause(int mask) __asm__("sigpause");
int fm_bsd_sigpause(int mask)
{
	return __sigpause(mask, 0);
}

/* ---- calls that wait for a signal -------------------------------------- */

/*
 * The kernel hands an unblocked SIGBUS to a thread that waits for it; one that
 * is held back already, or hits a thread whose view is blocked meanwhile
 * (fm_bus_hold), is ours to pass on.
 */
static int sigmask_give(int r, siginfo_t *info, const siginfo_t *got)
{
	if (r > 0 && info && !fm_user_write(info, got, sizeof(*got)))
		return (int)fm_result(-EFAULT);
	return r;
}

static int wait_for_signal(const sigset_t *set, siginfo_t *info,
			   const struct timespec *timeout)
{
	struct timespec limit;
	siginfo_t got;
	sigset_t want;
	int r;

	if (!fm_on() || !FM_FOUND(sigtimedwait))
		return FM_PASS_SET(sigtimedwait, SYS_rt_sigtimedwait, set, info,
			       timeout);
	/* Nothing is held back: SIGBUS is as it always was. */
	if (!fm_bus_taken() && !fm_active())
		return FM_FOUND(sigtimedwait)(set, info, timeout);
	/* Copies: the program's may lie in managed memory. */
	if (!fm_user_read(&want, set, 8) ||
	    (timeout && !fm_user_read(&limit, timeout, sizeof(limit))))
		return (int)fm_result(-EFAULT);
	if (!strip(&want, &want)) {
		r = FM_FOUND(sigtimedwait)(&want, &got,
					   timeout ? &limit : NULL);
		return sigmask_give(r, info, &got);
	}
	sigaddset(&want, SIGBUS);
	if (something_held() && take_held(&got)) {
		if (got.si_code == SI_TKILL)
			got.si_code = SI_USER; /* libc shows it so */
		return sigmask_give(SIGBUS, info, &got);
	}
	atomic_store(&process.waiter, fm_sys_gettid());
	r = FM_FOUND(sigtimedwait)(&want, &got, timeout ? &limit : NULL);
	atomic_store(&process.waiter, 0);
	return sigmask_give(r, info, &got);
}

FM_HOOK int sigtimedwait(const sigset_t *set, siginfo_t *info,
			 const struct timespec *timeout)
{
	int r = wait_for_signal(set, info, timeout);

	if (r > 0 && fm_active())
		fm_peers_acquire();
	return r;
}

FM_HOOK int sigwaitinfo(const sigset_t *set, siginfo_t *info)
{
	return sigtimedwait(set, info, NULL);
}

/* Returns the error number; does not end with EINTR. */
FM_HOOK int sigwait(const sigset_t *set, int *ret_sig)
{
	const int saved = errno;
	int r;

	do {
		r = sigtimedwait(set, NULL, NULL);
	} while (r < 0 && errno == EINTR);
	if (r < 0) {
		r = errno;
		errno = saved;
		return r;
	}
	errno = saved;
	*ret_sig = r;
	return 0;
}
