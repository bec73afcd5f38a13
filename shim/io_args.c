/* SPDX-License-Identifier: MIT */
/*
 * io_args.c - more small objects: message queues, clocks and timers, limits,
 * pairs of descriptors, templates of file names.
 */
#include "io_object.h"

#include <mqueue.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ipc.h>
#include <sys/mman.h>
#include <sys/resource.h>
#include <sys/sem.h>
#include <sys/shm.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/sysinfo.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/times.h>
#include <sys/utsname.h>

#define IF_OK(size) (r == 0 ? (size) : 0)
#define TWO_FDS (2 * sizeof(int))
#define SIZE(p) sizeof(*(p))

/* The limit that a call may set. */
static void note_limit(int what, const struct rlimit *set)
{
	struct rlimit rl;

	if (what == RLIMIT_FSIZE && set && fm_looks() &&
	    fm_whoami() == FM_ME && fm_user_read(&rl, set, sizeof(rl)))
		fm_limit_fsize(rl.rlim_cur);
}

static size_t shm_size(int cmd)
{
	switch (cmd) {
	case IPC_STAT:
	case IPC_SET:
	case SHM_STAT:
	case SHM_STAT_ANY:
		return sizeof(struct shmid_ds);
	case IPC_INFO:
		return sizeof(struct shminfo);
	case SHM_INFO:
		return sizeof(struct shm_info);
	default:
		return 0; /* the kernel does not look at it */
	}
}

void fm_note_limit(pid_t pid, int what, const struct rlimit *set)
{
	if (!pid || pid == fm_sys_getpid())
		note_limit(what, set);
}

/* clang-format off */
OBJECT_(int, pipe, (int p[2]), p, TWO_FDS, OUT, IF_OK(TWO_FDS),
	FM_PASS(pipe, SYS_pipe, p), p)
OBJECT_(int, pipe2, (int p[2], int flags), p, TWO_FDS, OUT, IF_OK(TWO_FDS),
	FM_PASS(pipe2, SYS_pipe2, p, flags), p, flags)
OBJECT_(int, socketpair, (int domain, int type, int proto, int p[2]),
	p, TWO_FDS, OUT, IF_OK(TWO_FDS),
	FM_PASS(socketpair, SYS_socketpair, domain, type, proto, p),
	domain, type, proto, p)
OBJECT(int, uname, SYS_uname, (struct utsname *buf),
       buf, SIZE(buf), OUT, WHOLE, buf)
OBJECT(int, sysinfo, SYS_sysinfo, (struct sysinfo *buf),
       buf, SIZE(buf), OUT, WHOLE, buf)
OBJECT(clock_t, times, SYS_times, (struct tms *buf),
       buf, SIZE(buf), OUT, r != (clock_t)-1 ? SIZE(buf) : 0, buf)
OBJECT_(int, getrusage, (__rusage_who_t who, struct rusage *buf),
	buf, SIZE(buf), OUT, WHOLE,
	FM_PASS(getrusage, SYS_getrusage, who, buf), who, buf)
OBJECT_(int, getrlimit, (__rlimit_resource_t what, struct rlimit *buf),
	buf, SIZE(buf), OUT, WHOLE,
	FM_PASS(getrlimit, SYS_getrlimit, what, buf), what, buf)
OBJECT_(int, setrlimit, (__rlimit_resource_t what, const struct rlimit *buf),
	buf, SIZE(buf), IN, 0,
	(fm_note_limit(0, (int)what, buf),
	 FM_PASS(setrlimit, SYS_setrlimit, what, buf)), what, buf)
OBJECT2_(int, prlimit, (pid_t pid, enum __rlimit_resource what,
	 const struct rlimit *set, struct rlimit *old),
	 set, SIZE(set), IN, 0, old, SIZE(old), OUT, IF_OK(SIZE(old)),
	 (fm_note_limit(pid, (int)what, set),
	  FM_PASS(prlimit, SYS_prlimit64, pid, what, set, old)),
	 pid, what, set, old)
OBJECT(int, getgroups, SYS_getgroups, (int n, gid_t *list),
       list, (n > 0 ? (size_t)n : 0) * sizeof(gid_t), OUT,
       r > 0 ? (size_t)r * sizeof(gid_t) : 0, n, list)
OBJECT_LATE(int, sched_getaffinity, (pid_t pid, size_t n, cpu_set_t *set),
	    set, n, OUT, IF_OK(n), pid, n, set)
OBJECT_LATE(int, sched_setaffinity,
	    (pid_t pid, size_t n, const cpu_set_t *set),
	    set, n, IN, 0, pid, n, set)

/* Time. */
OBJECT2(int, nanosleep, SYS_nanosleep,
	(const struct timespec *t, struct timespec *left),
	t, SIZE(t), IN, 0, left, SIZE(left), OUT,
	r < 0 && errno == EINTR ? SIZE(left) : 0, t, left)
OBJECT2_LATE(int, clock_nanosleep,
	     (clockid_t clock, int flags, const struct timespec *t,
	      struct timespec *left),
	     t, SIZE(t), IN, 0, left, SIZE(left), OUT,
	     r == EINTR && !(flags & TIMER_ABSTIME) ? SIZE(left) : 0,
	     clock, flags, t, left)
OBJECT_(int, getitimer, (__itimer_which_t which, struct itimerval *buf),
	buf, SIZE(buf), OUT, WHOLE,
	FM_PASS(getitimer, SYS_getitimer, which, buf), which, buf)
OBJECT2_(int, setitimer, (__itimer_which_t which, const struct itimerval *t,
	 struct itimerval *old),
	 t, SIZE(t), IN, 0, old, SIZE(old), OUT, IF_OK(SIZE(old)),
	 FM_PASS(setitimer, SYS_setitimer, which, t, old), which, t, old)
OBJECT_LATE(int, timer_gettime, (timer_t timer, struct itimerspec *buf),
	    buf, SIZE(buf), OUT, WHOLE, timer, buf)
OBJECT2_LATE(int, timer_settime,
	     (timer_t timer, int flags, const struct itimerspec *t,
	      struct itimerspec *old),
	     t, SIZE(t), IN, 0, old, SIZE(old), OUT, IF_OK(SIZE(old)),
	     timer, flags, t, old)
OBJECT(int, timerfd_gettime, SYS_timerfd_gettime,
       (int fd, struct itimerspec *buf), buf, SIZE(buf), OUT, WHOLE, fd, buf)
OBJECT2(int, timerfd_settime, SYS_timerfd_settime,
	(int fd, int flags, const struct itimerspec *t,
	 struct itimerspec *old),
	t, SIZE(t), IN, 0, old, SIZE(old), OUT, IF_OK(SIZE(old)),
	fd, flags, t, old)
/* See stored_before in io_path.c. */
OBJECT_(int, futimens, (int fd, const struct timespec t[2]),
	t, 2 * sizeof(struct timespec), IN, 0,
	((fm_looks() ? (void)fm_see(fd, 0, 0) : (void)0),
	 FM_LATE(futimens)(fd, t)), fd, t)
OBJECT_(int, futimes, (int fd, const struct timeval t[2]),
	t, 2 * sizeof(struct timeval), IN, 0,
	((fm_looks() ? (void)fm_see(fd, 0, 0) : (void)0),
	 FM_LATE(futimes)(fd, t)), fd, t)

/* Messages and semaphores. */
OBJECT_(int, mq_send, (mqd_t q, const char *msg, size_t n, unsigned prio),
	msg, n, IN, 0, (fm_ipc_before(), FM_LATE(mq_send)(q, msg, n, prio)),
	q, msg, n, prio)
OBJECT2_(int, mq_timedsend,
	 (mqd_t q, const char *msg, size_t n, unsigned prio,
	  const struct timespec *t),
	 msg, n, IN, 0, t, SIZE(t), IN, 0,
	 (fm_ipc_before(), FM_LATE(mq_timedsend)(q, msg, n, prio, t)),
	 q, msg, n, prio, t)
OBJECT2_(ssize_t, mq_receive, (mqd_t q, char *msg, size_t n, unsigned *prio),
	 msg, n, OUT, COUNT, prio, SIZE(prio), OUT, r >= 0 ? SIZE(prio) : 0,
	 fm_ipc_after(FM_LATE(mq_receive)(q, msg, n, prio)), q, msg, n, prio)
OBJECT_LATE(int, mq_getattr, (mqd_t q, struct mq_attr *buf),
	    buf, SIZE(buf), OUT, WHOLE, q, buf)
OBJECT2_LATE(int, mq_setattr,
	     (mqd_t q, const struct mq_attr *set, struct mq_attr *old),
	     set, SIZE(set), IN, 0, old, SIZE(old), OUT, IF_OK(SIZE(old)),
	     q, set, old)
OBJECT_(int, semop, (int id, struct sembuf *ops, size_t n),
	ops, n * SIZE(ops), IN, 0,
	(fm_ipc_before(), (int)fm_ipc_after(FM_LATE(semop)(id, ops, n))),
	id, ops, n)
OBJECT2_(int, semtimedop,
	 (int id, struct sembuf *ops, size_t n, const struct timespec *t),
	 ops, n * SIZE(ops), IN, 0, t, SIZE(t), IN, 0,
	 (fm_ipc_before(),
	  (int)fm_ipc_after(FM_LATE(semtimedop)(id, ops, n, t))),
	 id, ops, n, t)
OBJECT_LATE(int, shmctl, (int id, int cmd, struct shmid_ds *buf),
	    buf, shm_size(cmd), cmd == IPC_SET ? IN : OUT,
	    r >= 0 && cmd != IPC_SET ? shm_size(cmd) : 0, id, cmd, buf)
OBJECT_LATE(int, signalfd, (int fd, const sigset_t *set, int flags),
	    set, SIZE(set), IN, 0, fd, set, flags)

/* File names that are filled in: libc opens what it has just stored. */
#define NAME (strlen(name) + 1)
OBJECT_LATE(int, mkstemp, (char *name), name, NAME, BOTH, NAME, name)
OBJECT_LATE(int, mkostemp, (char *name, int flags),
	    name, NAME, BOTH, NAME, name, flags)
OBJECT_LATE(int, mkstemps, (char *name, int suffix),
	    name, NAME, BOTH, NAME, name, suffix)
OBJECT_LATE(int, mkostemps, (char *name, int suffix, int flags),
	    name, NAME, BOTH, NAME, name, suffix, flags)
/* clang-format on */

/* ---- three objects ----------------------------------------------------- */

FM_NEXT(mq_timedreceive)

FM_SLOW ssize_t receive_slow(mqd_t q, char *msg, size_t n, unsigned *prio,
			     const struct timespec *t)
{
	struct fm_object b[3];
	ssize_t r;

	msg = fm_object(&b[0], msg, n, OUT);
	prio = fm_object(&b[1], prio, SIZE(prio), OUT);
	t = fm_object(&b[2], t, SIZE(t), IN);
	r = FM_LATE(mq_timedreceive)(q, msg, n, prio, t);
	fm_object_end(&b[0], COUNT);
	fm_object_end(&b[1], r >= 0 ? SIZE(prio) : 0);
	fm_object_end(&b[2], 0);
	return r;
}

FM_HOOK ssize_t mq_timedreceive(mqd_t q, char *msg, size_t n, unsigned *prio,
				const struct timespec *t)
{
	if (!fm_touches(msg, n) && !fm_touches(prio, SIZE(prio)) &&
	    !fm_touches(t, SIZE(t)))
		return fm_ipc_after(
			FM_LATE(mq_timedreceive)(q, msg, n, prio, t));
	return fm_ipc_after(receive_slow(q, msg, n, prio, t));
}

/* Other names of the same functions. */
FM_ALIAS(pipe) int __pipe(int p[2]) __THROW;
FM_ALIAS(nanosleep)
int __nanosleep(const struct timespec *t, struct timespec *left);
FM_ALIAS(getrlimit)
int getrlimit64(__rlimit_resource_t what, struct rlimit64 *buf) __THROW;
FM_ALIAS(setrlimit)
int setrlimit64(__rlimit_resource_t what, const struct rlimit64 *buf) __THROW;
FM_ALIAS(prlimit)
int prlimit64(pid_t pid, enum __rlimit_resource what,
	      const struct rlimit64 *set, struct rlimit64 *old) __THROW;
extern void __chk_fail(void) __attribute__((noreturn));
int __getgroups_chk(int n, gid_t *list, size_t room);
FM_HOOK int __getgroups_chk(int n, gid_t *list, size_t room)
{
	if (n > 0 && room / sizeof(*list) < (size_t)n)
		__chk_fail();
	return getgroups(n, list);
}
FM_ALIAS(mkstemp) int mkstemp64(char *name) __nonnull((1));
FM_ALIAS(mkostemp) int mkostemp64(char *name, int flags) __nonnull((1));
FM_ALIAS(mkstemps) int mkstemps64(char *name, int suffix) __nonnull((1));
FM_ALIAS(mkostemps)
int mkostemps64(char *name, int suffix, int flags) __nonnull((1));
