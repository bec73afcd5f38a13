/* SPDX-License-Identifier: MIT */
/* C31h: calls by their number that go on using memory when they have returned,
 * or that find it by pointers in what they are given: each in a file of its
 * own, of which that is not resident. */
#include "ct.h"

#include <linux/filter.h>
#include <linux/futex.h>
#include <linux/kexec.h>
#include <linux/sched.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <sched.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#define STEP 32ul /* pages: none comes along with another */
#define PLACES 8ul
#define SIZE ((PLACES + 1) * STEP * PAGE)
#define FUTEX_WAKE_NEW 454
#define FUTEX_WAIT_NEW 455
#define FUTEX_REQUEUE_NEW 456
#define FUTEX_OF_32 2 /* flags of the new ones */

static int fd = -1;
static char *map;
static size_t used;

static void fresh(const char *name)
{
	if (fd >= 0) {
		munmap(map, SIZE);
		close(fd);
	}
	fd = ct_file(name, SIZE);
	map = ct_map(fd, SIZE, RW, MAP_SHARED, 0);
	ct_load(map + PLACES * STEP * PAGE);
	used = 0;
}

/* Memory of the file that nobody has touched, with this in it. */
static void *place(const void *what, size_t n)
{
	size_t off = used++ * STEP * PAGE + PAGE - 8;

	if (used > PLACES)
		ct_die("places");
	ct_pwrite(fd, what, n, (off_t)off);
	return map + off;
}

static void *word(uint64_t n)
{
	return place(&n, sizeof(n));
}

/* ---- futexes ------------------------------------------------------------ */

static const struct timespec soon = { 0, 1000000 }, past = { 0, 1 };

static void *moment(const struct timespec *t)
{
	return place(t, sizeof(*t));
}

static void *waiters(void)
{
	struct futex_waitv v[2] = {
		{ .uaddr = (uintptr_t)word(0), .flags = FUTEX_OF_32 },
		{ .uaddr = (uintptr_t)word(0), .flags = FUTEX_OF_32 },
	};

	return place(v, sizeof(v));
}

static void futexes(void)
{
	fresh("wait");
	say_rc("C31h futex, wait", syscall(SYS_futex, word(0), FUTEX_WAIT, 0,
					   moment(&soon), NULL, 0));
	fresh("requeue");
	say_rc("C31h futex, requeue",
	       syscall(SYS_futex, word(0), FUTEX_CMP_REQUEUE, 1, 1L, word(0),
		       0));
	fresh("waitv");
	say_rc("C31h futex_waitv", syscall(SYS_futex_waitv, waiters(), 2, 0,
					   moment(&past), CLOCK_MONOTONIC));
	fresh("wake-new");
	say_rc("C31h futex_wake",
	       syscall(FUTEX_WAKE_NEW, word(0), ~0u, 1, FUTEX_OF_32));
	fresh("wait-new");
	say_rc("C31h futex_wait",
	       syscall(FUTEX_WAIT_NEW, word(0), 0, ~0u, FUTEX_OF_32,
		       moment(&past), CLOCK_MONOTONIC));
	fresh("requeue-new");
	say_rc("C31h futex_requeue",
	       syscall(FUTEX_REQUEUE_NEW, waiters(), 0, 1, 1));
}

/* ---- threads ------------------------------------------------------------ */

static void clones(void)
{
	struct clone_args a = {
		.flags = CLONE_PARENT_SETTID | CLONE_CHILD_SETTID |
			 CLONE_PIDFD,
		.exit_signal = SIGCHLD,
	};
	int *parent, *child, *pidfd, status = 0;
	pid_t pid;

	fresh("clone3");
	a.parent_tid = (uintptr_t)(parent = word(0));
	a.child_tid = (uintptr_t)(child = word(0));
	a.pidfd = (uintptr_t)(pidfd = word(0));
	pid = (pid_t)syscall(SYS_clone3, place(&a, sizeof(a)), sizeof(a));
	if (!pid)
		_exit(*child == (int)syscall(SYS_getpid) ? 3 : 4);
	say("C31h clone3: %s", ct_errno(pid < 0));
	if (pid < 0)
		return;
	waitpid(pid, &status, 0);
	say("C31h clone3: %d %d %d", *parent == pid, WEXITSTATUS(status),
	    *pidfd > 0 && !close(*pidfd));
}

static void old_clone(void)
{
	int *parent, *child, status = 0;
	pid_t pid;

	fresh("clone");
	parent = word(0);
	child = word(0);
	pid = (pid_t)syscall(SYS_clone,
			     SIGCHLD | CLONE_PARENT_SETTID | CLONE_CHILD_SETTID,
			     NULL, parent, child, 0);
	if (!pid)
		_exit(*child == (int)syscall(SYS_getpid) ? 3 : 4);
	if (pid > 0)
		waitpid(pid, &status, 0);
	say("C31h clone: %d %d", *parent == pid, WEXITSTATUS(status));
}

struct robust {
	struct robust_list_head head;
	struct robust_list one;
	uint32_t lock;
};

/* The kernel marks the lock of a thread that has ended. */
static void *holds_a_lock(void *arg)
{
	struct robust *at = arg;
	struct robust r = {
		.head.list.next = &at->one,
		.head.futex_offset = offsetof(struct robust, lock) -
				     offsetof(struct robust, one),
		.one.next = &at->head.list,
		.lock = (uint32_t)gettid(),
	};

	ct_pwrite(fd, &r, sizeof(r), (char *)at - map);
	say_rc("C31h set_robust_list",
	       syscall(SYS_set_robust_list, &at->head, sizeof(r.head)));
	return NULL;
}

static void robust_locks(void)
{
	struct robust *r;
	pthread_t t;

	fresh("robust");
	r = word(0);
	if (pthread_create(&t, NULL, holds_a_lock, r))
		ct_die("pthread_create");
	pthread_join(t, NULL);
	say("C31h lock: %x", r->lock & FUTEX_OWNER_DIED);
}

static void *cleared;

static int sets_address(void *arg)
{
	syscall(SYS_set_tid_address, cleared);
	syscall(SYS_exit, 0);
	return 0;
}

/* Of a thread that libc does not know of. */
static void addresses(void)
{
	static char stack[65536] __attribute__((aligned(64)));
	volatile int *tid;

	fresh("address");
	tid = cleared = word(7);
	if (clone(sets_address, stack + sizeof(stack),
		  CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND |
			  CLONE_THREAD | CLONE_SYSVSEM,
		  NULL) < 0)
		ct_die("clone");
	for (int i = 0; i < 2000 && *tid; i++)
		usleep(1000);
	say("C31h set_tid_address: %d", *tid);
}

/* ---- programs and kernels ----------------------------------------------- */

/* Refused, once it has been read: no place in memory begins at 1. */
static void kernels(void)
{
	struct kexec_segment s = { NULL, 16, (void *)1, 16 };

	fresh("kexec");
	s.buf = word(0);
	say_rc("C31h kexec_load",
	       syscall(SYS_kexec_load, 0, 1, place(&s, sizeof(s)), 0));
}

static const void *program(void)
{
	struct sock_filter allow = BPF_STMT(BPF_RET | BPF_K,
					    SECCOMP_RET_ALLOW);
	struct sock_fprog p = { .len = 1 };

	if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0))
		ct_die("no_new_privs");
	p.filter = place(&allow, sizeof(allow));
	return place(&p, sizeof(p));
}

static void by_prctl(void)
{
	fresh("prctl");
	say_rc("C31h prctl, filter", prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER,
					   program(), 0, 0));
}

static void by_number(void)
{
	const uint32_t known = SECCOMP_RET_ALLOW;

	fresh("action");
	say_rc("C31h seccomp, action",
	       syscall(SYS_seccomp, SECCOMP_GET_ACTION_AVAIL, 0,
		       place(&known, sizeof(known))));
	fresh("seccomp");
	say_rc("C31h seccomp, filter",
	       syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, program()));
}

/* For good, so in a child. */
static void in_a_child(void (*filters)(void))
{
	say("C31h confined: %d", ct_child(ct_run_case, &filters));
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	futexes();
	clones();
	old_clone();
	robust_locks();
	addresses();
	kernels();
	in_a_child(by_prctl);
	in_a_child(by_number);
	return 0;
}
