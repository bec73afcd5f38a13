/* SPDX-License-Identifier: MIT */
/*
 * uffd_threads.c - thread delivery: threads of ours read fault messages and
 * resolve them. Covers the kernel's own accesses (system calls on mapped
 * memory), at the price of a hand-over per fault.
 */
#include <linux/userfaultfd.h>
#include <poll.h>

#include "base/epoch.h"
#include "base/life.h"
#include "base/sys.h"
#include "base/thread.h"
#include "engine.h"
#include "fault.h"
#include "file/file.h"
#include "map/map.h"
#include "tunables.h"
#include "uffd_deadlock.h"
#include "uffd_poison.h"

/* A handler waits for the device with its fault; this many may. */
#define HANDLERS FM_HANDLERS

static _Atomic uint32_t watchers, calls;

static bool beyond_end(const struct fm_map *m, uintptr_t addr)
{
	uint64_t i = (addr - atomic_load(&m->start)) >> FM_PAGE_SHIFT;

	return (m->pgoff + i) << FM_PAGE_SHIFT >=
	       (uint64_t)fm_file_size_now(m->file);
}

/* Not for each page, of which all may fail. */
static bool uffd_threads_may_demote(struct fm_file *f)
{
	uint64_t stays = atomic_load(&f->demote->stays_since_ms);

	return !stays || fm_now_ms() - stays > FM_SECOND_MS;
}

/* Beyond the end of the file, and where it cannot be read, nothing of ours
 * can make the access fail the way it must, for a program's access and a
 * kernel's alike; the kernel's own mapping can. */
static void demote_unservable(uintptr_t addr)
{
	unsigned e = fm_epoch_enter();
	struct fm_map *m = fm_space_find(addr);
	struct fm_file *f = m ? m->file : NULL;
	bool beyond = m && beyond_end(m, addr);
	fm_up_fault_unservable *take = FM_UP_ONE(fault_unservable);

	if (f)
		fm_file_get(f);
	fm_epoch_leave(e);
	if (!f)
		return;
	/* Where it cannot be opened any more, or what is dirty not be
	 * written. */
	if (!uffd_threads_may_demote(f) || !take || take(f, addr, beyond))
		fm_fail_access(f, addr);
	fm_file_put(f);
}

static void handle(const struct uffd_msg *msg, uint64_t protects, unsigned me)
{
	uintptr_t addr = msg->arg.pagefault.address & ~FM_PAGE_MASK;
	uint64_t flags = msg->arg.pagefault.flags;
	bool write = flags & (UFFD_PAGEFAULT_FLAG_WRITE |
			      UFFD_PAGEFAULT_FLAG_WP);

	fm_deadlock_begin(me, addr, msg->arg.pagefault.feat.ptid);
	if (fm_fault_message((void *)addr, write, protects,
			     msg->arg.pagefault.feat.ptid) == FM_FAULT_BUS)
		demote_unservable(addr);
	fm_deadlock_end(me);
	/* Somebody may have been quicker, then nothing has woken him. */
	fm_uffd_wake((void *)addr, FM_PAGE);
}

/* Nobody can serve faults or even answer them. Threads that wait for one
 * would wait for ever. */
static void die_of_sigbus(void)
{
	struct fm_sigaction {
		void (*handler)(int);
		unsigned long flags;
		void (*restorer)(void);
		uint64_t mask;
	} sa = { NULL, 0, NULL, 0 };

	fm_sys4(SYS_rt_sigaction, 7 /* SIGBUS */, &sa, NULL, 8);
	fm_sys2(SYS_kill, fm_sys_getpid(), 7);
}

/* While nothing is served there is nobody who could wait, and what the program
 * has closed it may close. */
static void uffd_threads_lost(void)
{
	if (fm_active())
		die_of_sigbus();
	fm_sys_sleep_us(FM_SECOND_MS * 1000);
}

static bool try_watch(void)
{
	uint32_t n = atomic_load(&watchers);

	while (n < fm_tune.uffd_threads_watchers)
		if (atomic_compare_exchange_weak(&watchers, &n, n + 1))
			return true;
	return false;
}

static void uffd_threads_watch(void)
{
	for (;;) {
		uint32_t seen = atomic_load(&calls);

		if (try_watch())
			return;
		fm_thread_wait(&calls, seen, NULL);
	}
}

/* The last one sends for another: it may be busy for long. */
static void uffd_threads_unwatch(void)
{
	if (atomic_fetch_sub(&watchers, 1) > 1)
		return;
	atomic_fetch_add(&calls, 1);
	fm_futex_wake(&calls, 1);
}

/* poll(2) refuses when the program has set RLIMIT_NOFILE to 0. */
static void wait_message(struct pollfd *p)
{
	const bool soon = fm_failing() || fm_deadlock_lately();
	int n = fm_thread_poll(p, 1,
			       soon ? (int)fm_tune.uffd_poison_fail_ms / 2 :
				      (int)FM_SECOND_MS);

	if (n < 0 && n != -EINTR)
		fm_sys_sleep_us(5000);
}

/* What the program has under this number is not for us to read: a pipe would
 * keep us for ever, and lose what is written to it. */
static long read_message(int fd, struct uffd_msg *msg)
{
	return fm_sys_is_anon(fd) ? fm_sys3(SYS_read, fd, msg, sizeof(*msg)) :
				    -EBADF;
}

static void *handler(void *arg)
{
	const unsigned me = (unsigned)(uintptr_t)arg;
	struct pollfd pfd[2] = { { .events = POLLIN } };
	struct uffd_msg msg;

	fm_thread_begin("fastmap-fault");
	uffd_threads_watch();
	pfd[0].fd = fm_uffd_fd();
	for (;;) {
		uint64_t protects = fm_uffd_protects();
		long n = read_message(pfd[0].fd, &msg);

		fm_poison_tick(false);
		if (n == (long)sizeof(msg)) {
			uffd_threads_unwatch();
			if (msg.event == UFFD_EVENT_PAGEFAULT)
				handle(&msg, protects, me);
			uffd_threads_watch();
		} else if (n == -EAGAIN) {
			wait_message(pfd);
			fm_deadlock_look();
		} else if (n != -EINTR && !fm_uffd_lost(pfd[0].fd)) {
			uffd_threads_lost();
		}
		pfd[0].fd = fm_uffd_fd();
	}
	return NULL;
}

/*
 * Whoever moves memory waits until somebody has read that it moves (uffd.h),
 * and a handler may be waiting for what he holds: the space lock, a file that
 * is frozen, or UFFDIO_COPY, which the kernel refuses meanwhile. So where no
 * handler reads it soon, this thread does. The kernel tells it of faults first,
 * and who faults again at once would keep it from the rest: they are woken
 * when it has all been read.
 */
static bool read_one(void)
{
	struct uffd_msg msg;
	const int fd = fm_uffd_fd();
	const long n = read_message(fd, &msg);

	if (n == -EBADF)
		fm_uffd_lost(fd);
	return n == (long)sizeof(msg);
}

static void *reader_of_moves(void *arg)
{
	const struct timespec soon = { 0, fm_tune.uffd_threads_mover_ns };
	bool any = false;
	uint32_t n;

	fm_thread_begin("fastmap-moves");
	for (;;) {
		n = atomic_load(&fm_uffd_moving);
		/* Before it sleeps for as long as nothing moves. */
		if (!n && any) {
			fm_uffd_wake_all();
			any = false;
		}
		fm_thread_wait(&fm_uffd_moving, n, n ? &soon : NULL);
		while (n && atomic_load(&fm_uffd_moving) && read_one())
			any = true;
	}
	return arg;
}

int fm_uffd_threads_start(void)
{
	int moves = fm_uffd_caps()->remap ?
			    fm_thread_create(reader_of_moves, NULL) : 0;

	if (moves)
		return moves;
	atomic_store(&watchers, 0);
	fm_thread_will_poll();
	for (int i = 0; i < HANDLERS; i++) {
		int err = fm_thread_create(handler, (void *)(uintptr_t)i);

		if (err)
			return i ? 0 : err;
	}
	return 0;
}
