/* SPDX-License-Identifier: MIT */
#include "inflight_syscalls.h"

#include <string.h>
#include <sys/syscall.h>

#include "base/left.h"
#include "base/life.h"
#include "base/proc.h"
#include "base/sys.h"
#include "base/types.h"
#include "engine.h"
#include "tunables.h"

#define MOST_THREADS 512u
#define USER 14 /* ABI: fields of a thread's stat, in ticks */
#define SYSTEM 15 /* ABI: the next one */
#define LEAST_ADDRESS 65536ul /* ABI: vm.mmap_min_addr */
#define MOST_LEN ((size_t)2 << 30) /* ABI: a call moves no more */

struct thread {
	char tid[12];
	uint64_t user, system;    /* ticks, when it was marked */
	struct fm_proc_call call; /* it was seen in */
	bool seen;
};

static struct thread threads[MOST_THREADS]; /* under the space lock */
static unsigned n;
static bool full;

/* Where their data lies, only memory of the program's tells. */
static bool hides_data(long nr)
{
	static const short calls[] = {
		SYS_readv, SYS_writev, SYS_preadv, SYS_pwritev, SYS_preadv2,
		SYS_pwritev2, SYS_recvmsg, SYS_sendmsg, SYS_recvmmsg,
		SYS_sendmmsg, SYS_ioctl, SYS_vmsplice, SYS_process_vm_readv,
		SYS_process_vm_writev, SYS_io_submit, SYS_io_getevents,
		SYS_io_pgetevents, SYS_io_uring_enter, SYS_ptrace, SYS_bpf,
		SYS_clone3, 449 /* futex_waitv */,
	};

	for (unsigned i = 0; i < sizeof(calls) / sizeof(*calls); i++)
		if (calls[i] == nr)
			return true;
	return nr > 449;
}

/* Each argument may be an address, and the next one its length. */
static bool has_ours(const struct fm_proc_call *c)
{
	for (unsigned i = 0; i < 6; i++) {
		const size_t len = i < 5 ? c->arg[i + 1] : 0;

		if (c->arg[i] >= LEAST_ADDRESS &&
		    fm_krange_in((const void *)c->arg[i],
				 len && len <= MOST_LEN ? len : FM_PAGE))
			return true;
	}
	return false;
}

static uint64_t ticks(const struct thread *t, int field)
{
	char state;

	return fm_proc_thread_stat(t->tid, field, &state);
}

static bool inflight_syscalls_has_ended(const struct thread *t)
{
	char state;

	fm_proc_thread_stat(t->tid, USER, &state);
	return !state || state == 'Z' || state == 'X';
}

/* More of it in user mode than a call can have by the kernel's rounding. */
static bool has_computed(const struct thread *t)
{
	const uint64_t user = ticks(t, USER) - t->user;

	return user >= fm_tune.inflight_syscalls_user &&
	       user / 2 >= ticks(t, SYSTEM) - t->system;
}

static bool inflight_syscalls_is_over(struct thread *t)
{
	struct fm_proc_call c;

	if (!fm_proc_syscall(t->tid, &c))
		return inflight_syscalls_has_ended(t) || has_computed(t);
	if (c.nr < 0 || (!hides_data(c.nr) && !has_ours(&c)))
		return true;
	if (t->seen && memcmp(&t->call, &c, sizeof(c)))
		return true;
	t->call = c;
	t->seen = true;
	return false;
}

static void inflight_syscalls_mark(const char *name, void *arg)
{
	struct thread *t = &threads[n];

	if (fm_left_is_ours(name))
		return;
	if (n == MOST_THREADS || strlen(name) >= sizeof(t->tid)) {
		full = true;
		return;
	}
	*t = (struct thread){ .seen = false };
	memcpy(t->tid, name, strlen(name) + 1);
	t->user = ticks(t, USER);
	t->system = ticks(t, SYSTEM);
	n++;
}

bool fm_inflight_syscalls_mark(void)
{
	char buf[4096] __attribute__((aligned(8)));

	n = 0;
	full = false;
	if (fm_each_thread(buf, sizeof(buf), inflight_syscalls_mark, NULL))
		full = true;
	return !full;
}

bool fm_inflight_syscalls_over(void)
{
	for (unsigned i = n; i-- > 0;)
		if (inflight_syscalls_is_over(&threads[i]))
			threads[i] = threads[--n];
	return !n && !full;
}

static void inflight_syscalls_forked(void)
{
	n = 0;
}

FM_LIFE(inflight_syscalls, .level = FM_LIFE_RUNNING,
	.forked = inflight_syscalls_forked)
