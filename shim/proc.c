/* SPDX-License-Identifier: MIT */
/*
 * proc.c - the process ends, forks or becomes another program. Dirty data is
 * written back before (the guardian does it after a death by any cause; here
 * it is early enough for whoever reads the file next). The engine is never
 * torn down: exec may fail, and other destructors still use the memory.
 */
#include "shim.h"

#include <linux/seccomp.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include "args.h"
#include "handed.h"

int __register_atfork(void (*prepare)(void), void (*parent)(void),
		      void (*child)(void), void *dso);

FM_NEXT(__register_atfork)
FM_NEXT(_exit)
FM_NEXT(abort)
FM_NEXT(vfork)
FM_NEXT(prctl)

extern void fm_change_fork_child(void) __attribute__((weak));
extern char __libc_single_threaded __attribute__((weak)); /* glibc 2.32 */
extern int __cxa_atexit(void (*fn)(void *), void *arg, void *dso);
extern int __cxa_at_quick_exit(void (*fn)(void *), void *dso);

/*
 * Of the process whose memory this is. The kernel wipes the page in every child
 * that gets a copy of the memory. Nobody asks the kernel who we are, as long as
 * nobody else can run in our memory: a program that has confined itself may not
 * ask.
 */
static struct home {
	_Atomic int lives;
	_Atomic int pid; /* 0: not asked yet */
} *home;
/* this thread has called vfork, and may be the child */
static FM_TLS bool vforks;
/* there is, or was, a process by clone(CLONE_VM) */
static _Atomic bool shared;

int fm_my_pid(void)
{
	if (!home || !atomic_load(&home->lives))
		return fm_sys_getpid();
	if (!atomic_load(&home->pid))
		atomic_store(&home->pid, fm_sys_getpid());
	return atomic_load(&home->pid);
}

void fm_vfork_comes(void)
{
	if (!fm_on())
		return;
	fm_my_pid();
	vforks = true;
}

void fm_memory_shared(void)
{
	if (!fm_on())
		return;
	fm_my_pid();
	atomic_store(&shared, true);
}

enum fm_whoami fm_whoami(void)
{
	if (!home)
		return FM_ME;
	if (!atomic_load(&home->lives))
		return FM_RAW_FORK_CHILD;
	if (!vforks && !atomic_load(&shared))
		return FM_ME;
	if (atomic_load(&home->pid) != fm_sys_getpid())
		return FM_VFORK_CHILD;
	vforks = false;
	return FM_ME;
}

static bool proc_is_me(void)
{
	return fm_whoami() == FM_ME;
}

FM_UP(shim_is_me, proc_is_me)

void fm_flush_if_me(void)
{
	if (fm_on() && fm_whoami() == FM_ME)
		fm_engine_flush_for_others();
}

/* Orphans become our children. */
static _Atomic bool reaper;

bool fm_gets_orphans(void)
{
	return fm_on() && (atomic_load(&reaper) || fm_my_pid() == 1);
}

/* ---- fork ------------------------------------------------------------- */

/* Set with the only thread's signals blocked, from fork's begin to its end. */
static bool unused;

static bool fork_unused(void)
{
	if (!fm_fork_unused())
		return false;
	fm_sig_fork_lock(); /* handlers that map wait */
	unused = fm_fork_unused();
	if (!unused)
		fm_sig_fork_unlock();
	return unused;
}

/*
 * Registered before those of the program and its libraries, whose constructors
 * run before ours (see __register_atfork): prepare handlers run in reverse
 * order and the others in order, so ours enclose the fork most closely and no
 * other handler runs while faults and our locks are held up.
 */
void fm_fork_begin(void)
{
	if (!fm_on())
		return;
	/* The child may execute a program that reads what we have stored. */
	if (fm_whoami() == FM_ME)
		fm_engine_flush_for_fork();
	/* Here once, not in each child that ends so. */
	(void)FM_FOUND(_exit);
	if (fork_unused())
		return;
	fm_fork_prepare();
	fm_sig_fork_lock();
}

void fm_fork_done(void)
{
	if (!fm_on())
		return;
	if (unused) {
		unused = false;
		fm_sig_fork_unlock();
		return;
	}
	fm_sig_fork_unlock();
	fm_fork_parent();
	fm_heap_copied();
}

void fm_fork_done_child(void)
{
	if (!fm_on())
		return;
	if (home) {
		atomic_store(&home->pid, 0);
		atomic_store(&home->lives, 1);
	}
	/* stored only where another: else the page stays the parent's */
	if (vforks)
		vforks = false;
	if (atomic_load(&reaper))
		atomic_store(&reaper, false); /* is not inherited */
	fm_mask_fork_child();
	if (unused) {
		unused = false;
		fm_fork_child_unused();
		fm_sig_fork_unlock();
		fm_altstack_fork_child();
		return;
	}
	fm_user_fork_child();
	if (fm_change_fork_child)
		fm_change_fork_child();
	fm_sig_fork_unlock();
	fm_altstack_fork_child();
	fm_fork_child();
	fm_heap_lay();
}

/* Libc takes the lock of its list of streams after our handler, and who has it
 * may wait for the engine (fflush(NULL)): ours begins with it. It is recursive.
 */
extern void _IO_list_lock(void) __attribute__((weak));
extern void _IO_list_unlock(void) __attribute__((weak));
extern void _IO_list_resetlock(void) __attribute__((weak));

static void proc_prepare(void)
{
	if (fm_on() && _IO_list_lock)
		_IO_list_lock();
	fm_fork_begin();
}

static void parent(void)
{
	fm_fork_done();
	if (fm_on() && _IO_list_unlock)
		_IO_list_unlock();
}

static void proc_child(void)
{
	fm_fork_done_child();
	if (fm_on() && _IO_list_resetlock)
		_IO_list_resetlock();
}

static void register_ours(void)
{
	static _Atomic bool done;

	if (!atomic_exchange(&done, true))
		FM_LATE(__register_atfork)
		(proc_prepare, parent, proc_child, NULL);
}

/* What every pthread_atfork ends in. The first one brings ours. */
FM_HOOK int __register_atfork(void (*before)(void), void (*after)(void),
			      void (*in_child)(void), void *dso)
{
	register_ours();
	return FM_LATE(__register_atfork)(before, after, in_child, dso);
}

/* vfork is entered by a jump (entry.S), its child borrows our stack. */
__attribute__((used, visibility("hidden"))) void *fm_before_vfork(void);
void *fm_before_vfork(void)
{
	fm_flush_if_me();
	fm_vfork_comes();
	return (void *)FM_LATE(vfork);
}

/* ---- exit ------------------------------------------------------------- */

static void proc_at_exit(void *unused)
{
	if (fm_on() && fm_whoami() == FM_ME)
		fm_engine_exit();
}

FM_HOOK void _exit(int status)
{
	proc_at_exit(NULL);
	if (FM_FOUND(_exit))
		FM_FOUND(_exit)(status);
	for (;;)
		fm_sys1(SYS_exit_group, status);
}

FM_DO_ALIAS(_exit, _Exit)

/* Only once: an abort out of the engine itself must not come back to it. */
FM_HOOK void abort(void)
{
	static _Atomic bool entered;

	if (!atomic_exchange(&entered, true))
		fm_flush_if_me();
	FM_LATE(abort)();
	__builtin_unreachable();
}

void fm_before_less(void)
{
	if (fm_looks() && fm_whoami() == FM_ME)
		fm_fork_fill();
}

/* ---- sandboxes -------------------------------------------------------- */

/* What a call of seccomp does, if the kernel accepts it. `mine`: in the
 * engine's process, not in a child of vfork. */
struct confining {
	enum fm_filter kind;
	bool mine, stays;
};

/* Filters with which no file can be handed over to the kernel: who tried would
 * be ended, or lose the pages that are there. */
static _Atomic int stay;

/* Would the kernel bring pages in for that thread, but not we? A thread that
 * has a filter is refused the strict mode; and may not be allowed to look. */
static bool shuts_out(const void *filter, enum fm_filter kind, bool *ret_stays)
{
	if (kind == FM_FILTER_STRICT)
		return fm_active() && !fm_sys2(SYS_prctl, PR_GET_SECCOMP, 0);
	return (fm_active() || fm_sys_may_ask()) &&
	       fm_filter_refuses(filter, ret_stays);
}

/* Who is about to confine itself is asked before: it may not ask any more. Who
 * could not make the calls of a fault then is given the kernel's mappings, and
 * what is mapped from then on is the kernel's. */
static struct confining confine(const void *filter, enum fm_filter kind)
{
	struct confining c = { kind, fm_whoami() == FM_ME, false };
	bool shut;

	if (!c.mine)
		return c;
	fm_fork_fill();
	shut = shuts_out(filter, kind, &c.stays);
	if (shut && fm_active() && !atomic_load(&stay))
		fm_demote_range(NULL, PTRDIFF_MAX, FM_WHY_CONFINES);
	if (shut && fm_active())
		fm_log(FM_LOG_INFO,
		       "seccomp: mapped files need ioctl, io_uring_enter, "
		       "pread64, pwrite64, futex, madvise, mmap, munmap, "
		       "mprotect, sched_yield, fstat, "
		       "rt_sigprocmask, rt_sigreturn, getpid, gettid, "
		       "clock_gettime");
	if (shut && kind == FM_FILTER_ONE)
		c.kind = FM_FILTER_STRICT;
	atomic_fetch_add(&stay, c.stays);
	fm_filtered(1, c.kind);
	return c;
}

/* A mere try, as libseccomp's, or a thread of another mind. */
static void confined(const struct confining *c, bool failed)
{
	if (!c->mine || !failed)
		return;
	atomic_fetch_sub(&stay, c->stays);
	fm_filtered(-1, c->kind);
}

/* With TSYNC and without a listener, whose descriptor would be the answer, a
 * number above 0 is the thread for whose sake nothing was done. */
long fm_syscall_seccomp(long op, unsigned long flags, long args)
{
	const unsigned long how = flags & (SECCOMP_FILTER_FLAG_TSYNC |
					   SECCOMP_FILTER_FLAG_NEW_LISTENER);
	const enum fm_filter kind =
		op == SECCOMP_SET_MODE_STRICT && !flags && !args ?
			FM_FILTER_STRICT : /* else a try, which is refused */
		flags & SECCOMP_FILTER_FLAG_TSYNC ? FM_FILTER_ALL :
						    FM_FILTER_ONE;
	struct confining c;
	long r;

	fm_hand_seccomp(op, args);
	if (op > 1) /* neither a mode nor a filter */
		return fm_result(fm_sys3(SYS_seccomp, op, flags, args));
	c = confine((void *)args, kind);
	r = fm_sys3(SYS_seccomp, op, flags, args);
	confined(&c, r < 0 || (r && how == SECCOMP_FILTER_FLAG_TSYNC));
	return fm_result(r);
}

int fm_do_prctl(bool raw, int option, const unsigned long a[4])
{
	const enum fm_filter kind = a[0] == SECCOMP_MODE_STRICT ?
					    FM_FILTER_STRICT : FM_FILTER_ONE;
	struct confining c;
	int r;

	if (option == PR_SET_MEMORY_MERGE && fm_on() && !a[1] && !a[2] && !a[3])
		return (int)fm_result(fm_memory_merge(a[0]));
	if (option != PR_SET_SECCOMP) {
		r = FM_PASS_VIA(raw, prctl, SYS_prctl, option, a[0], a[1],
				a[2], a[3]);
		if (option == PR_SET_CHILD_SUBREAPER && !r &&
		    fm_whoami() == FM_ME)
			atomic_store(&reaper, a[0]);
		return r;
	}
	if (a[0] == SECCOMP_MODE_FILTER)
		fm_hand_seccomp(SECCOMP_SET_MODE_FILTER, (long)a[1]);
	c = confine((void *)a[1], kind);
	r = FM_PASS_VIA(raw, prctl, SYS_prctl, option, a[0], a[1], a[2], a[3]);
	confined(&c, r < 0);
	return r;
}

FM_HOOK int prctl(int option, ...)
{
	unsigned long a[4];
	va_list ap;

	va_start(ap, option);
	for (int i = 0; i < 4; i++)
		a[i] = va_arg(ap, unsigned long);
	va_end(ap);
	return fm_do_prctl(false, option, a);
}

void fm_proc_boot(void)
{
	int yes = 0;

	/* Made by constructors older than ours. */
	if (!&__libc_single_threaded || !__libc_single_threaded)
		fm_threads_come();
	/* Beside what is there: a far one needs tables of its own. */
	home = fm_sys_mmap(NULL, 4096, PROT_READ | PROT_WRITE,
			   MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if ((uintptr_t)home >= (uintptr_t)-4095)
		home = NULL;
	if (home) {
		fm_sys_madvise(home, 4096, MADV_WIPEONFORK);
		atomic_store(&home->pid, fm_sys_getpid());
		atomic_store(&home->lives, 1);
	}
	fm_sys2(SYS_prctl, PR_GET_CHILD_SUBREAPER, &yes);
	atomic_store(&reaper, yes); /* is kept over exec */
	register_ours();
	/* Older than every handler of the program and not bound to our
	 * library: runs last, after all destructors. */
	__cxa_atexit(proc_at_exit, NULL, NULL);
	__cxa_at_quick_exit(proc_at_exit, NULL);
}
