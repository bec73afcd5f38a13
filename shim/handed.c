/* SPDX-License-Identifier: MIT */
/*
 * handed.c - system calls that go on using memory after they have returned, or
 * that are shown by one pointer where the others are: what is ours of it
 * becomes the kernel's.
 */
#include "guard.h"
#include "handed.h"

#include <linux/futex.h>
#include <linux/kexec.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <time.h>

static void handed_give(long p, size_t n)
{
	fm_demote_touched((const void *)p, n, FM_WHY_SYSCALL);
}

/* ---- futexes ------------------------------------------------------------ */

/* The kernel may look at a futex at any time while somebody waits. */
static void give_futex(long p, size_t n)
{
	fm_demote_touched((const void *)p, n, FM_WHY_FUTEX);
}

static void give_time(long p)
{
	give_futex(p, sizeof(struct timespec));
}

/* The fourth argument of the others is a number. */
static bool handed_waits(int cmd)
{
	return cmd == FUTEX_WAIT || cmd == FUTEX_WAIT_BITSET ||
	       cmd == FUTEX_WAIT_REQUEUE_PI || cmd == FUTEX_LOCK_PI ||
	       cmd == FUTEX_LOCK_PI2;
}

static void old_futex(long a, long op, long time, long other)
{
	const int cmd = (int)op & FUTEX_CMD_MASK;

	give_futex(a, 4);
	if (handed_waits(cmd))
		give_time(time);
	if (cmd == FUTEX_REQUEUE || cmd == FUTEX_CMP_REQUEUE ||
	    cmd == FUTEX_CMP_REQUEUE_PI || cmd == FUTEX_WAIT_REQUEUE_PI ||
	    cmd == FUTEX_WAKE_OP)
		give_futex(other, 4);
}

static void several_futexes(long list, size_t n)
{
	const struct futex_waitv *v = (const void *)list;
	struct futex_waitv one;

	n = n < FUTEX_WAITV_MAX ? n : FUTEX_WAITV_MAX;
	give_futex(list, n * sizeof(*v));
	for (size_t i = 0; i < n && fm_user_read(&one, v + i, sizeof(one)); i++)
		give_futex((long)one.uaddr, 8);
}

/* ---- programs and kernels ----------------------------------------------- */

/* struct sock_fprog, whose header has names of its own for what libc's has. */
struct filter {
	unsigned short n;
	uint64_t *words;
};

void fm_hand_seccomp(long op, long args)
{
	struct filter f;

	if (!fm_looks() || !args)
		return;
	handed_give(args, sizeof(f));
	if (op == SECCOMP_SET_MODE_FILTER &&
	    fm_user_read(&f, (void *)args, sizeof(f)))
		handed_give((long)f.words, f.n * sizeof(*f.words));
}

static void give_segments(const struct kexec_segment *v, unsigned long n)
{
	struct kexec_segment s;

	n = n < KEXEC_SEGMENT_MAX ? n : KEXEC_SEGMENT_MAX;
	handed_give((long)v, n * sizeof(*v));
	for (; n && fm_user_read(&s, v, sizeof(s)); v++, n--)
		handed_give((long)s.buf, s.bufsz);
}

/* ---- threads ------------------------------------------------------------ */

void fm_hand_ids(unsigned long flags, const void *parent, const void *child)
{
	if (flags & (CLONE_PARENT_SETTID | CLONE_PIDFD))
		handed_give((long)parent, sizeof(pid_t));
	if (flags & (CLONE_CHILD_SETTID | CLONE_CHILD_CLEARTID))
		handed_give((long)child, sizeof(pid_t));
}

void fm_hand_clone(const void *args, size_t size)
{
	struct clone_args a = { 0 };

	if (!fm_looks())
		return;
	size = size < sizeof(a) ? size : sizeof(a);
	handed_give((long)args, size);
	if (!fm_user_read(&a, args, size))
		return;
	fm_hand_ids(a.flags & ~(uint64_t)CLONE_PIDFD,
		    (void *)(uintptr_t)a.parent_tid,
		    (void *)(uintptr_t)a.child_tid);
	if (a.flags & CLONE_PIDFD)
		handed_give((long)a.pidfd, sizeof(int));
	handed_give((long)a.set_tid, a.set_tid_size * sizeof(pid_t));
}

/* ---- by number ---------------------------------------------------------- */

static bool futex_call(long nr, long a, long b, long d, long e)
{
	switch (nr) {
	case __NR_futex:
		old_futex(a, b, d, e);
		return true;
	case __NR_futex_wake:
		give_futex(a, 8);
		return true;
	case __NR_futex_wait:
		give_futex(a, 8);
		give_time(e);
		return true;
	case __NR_futex_waitv:
		several_futexes(a, (unsigned)b);
		give_time(d);
		return true;
	case __NR_futex_requeue:
		several_futexes(a, 2);
		return true;
	}
	return false;
}

void fm_hand_over(long nr, long a, long b, long c, long d, long e)
{
	if (!fm_looks() || futex_call(nr, a, b, d, e))
		return;
	switch (nr) {
	case __NR_kexec_load:
		give_segments((const void *)c, (unsigned long)b);
		break;
	case __NR_set_tid_address:
		handed_give(a, sizeof(int));
		break;
	case __NR_set_robust_list:
		handed_give(a, (size_t)b);
		break;
	case __NR_rseq:
		handed_give(a, (unsigned)b);
		break;
	}
}
