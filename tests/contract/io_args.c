/* SPDX-License-Identifier: MIT */
/*
 * C09: every argument of a call that the kernel reads or fills, in mapped
 * memory that is not resident and across the boundary of two pages: waiting
 * for events, several messages, clocks, children, limits, queues.
 */
#include "ct.h"

#include <linux/capability.h>
#include <mqueue.h>
#include <poll.h>
#include <sched.h>
#include <sys/epoll.h>
#include <sys/resource.h>
#include <sys/select.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/syscall.h>
#include <sys/time.h>
#include <sys/timerfd.h>
#include <sys/timex.h>
#include <sys/uio.h>
#include <sys/utsname.h>
#include <time.h>

#define N 64ul

static int fd = -1;
static char *map;
static unsigned next_page;

static void fresh(void)
{
	if (map)
		munmap(map, N * PAGE);
	if (fd < 0)
		fd = ct_file("args", N * PAGE);
	map = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);
	next_page = 0;
}

/* A place for an object that no page table has: its head at the end of a
 * page, its tail on the next. Filled through the file. */
static void *put(const void *what, size_t len)
{
	size_t at;

	if (!map || next_page + 4 > N)
		fresh();
	at = (next_page + 1) * PAGE - (len > 8 ? 8 : len / 2);
	next_page += 3;
	if (what)
		ct_pwrite(fd, what, len, (off_t)at);
	return map + at;
}

#define PUT(object) put(&(object), sizeof(object))
#define ROOM(type) ((type *)put(NULL, sizeof(type)))

static void events(void)
{
	struct timespec soon = { 0, 1000000 }, later = { 5, 0 };
	struct timeval tv = { 5, 0 };
	struct epoll_event ev = { .events = EPOLLIN, .data = { .u32 = 77 } };
	struct epoll_event *got;
	struct pollfd want = { -1, POLLIN, 0 }, *pfd;
	sigset_t none;
	fd_set set, *in;
	int p[2], ep = epoll_create1(0);

	sigemptyset(&none);
	if (pipe(p) || write(p[1], "abc", 3) != 3)
		ct_die("pipe");
	want.fd = p[0];
	pfd = PUT(want);
	say("C09 poll: %d", poll(pfd, 1, 5000));
	say("C09 revents: %d", pfd->revents);
	pfd = PUT(want);
	say("C09 ppoll: %d", ppoll(pfd, 1, PUT(later), PUT(none)));
	say("C09 revents: %d", pfd->revents);
	pfd = PUT(want);
	say("C09 ppoll, no mask: %d", ppoll(pfd, 1, PUT(later), NULL));
	say("C09 ppoll, time: %d", ppoll(NULL, 0, PUT(soon), PUT(none)));
	FD_ZERO(&set);
	FD_SET(p[0], &set);
	in = PUT(set);
	say("C09 select: %d", select(p[0] + 1, in, NULL, NULL, PUT(tv)));
	say("C09 set: %d", FD_ISSET(p[0], in) != 0);
	in = PUT(set);
	say("C09 pselect: %d",
	    pselect(p[0] + 1, in, NULL, NULL, PUT(later), PUT(none)));
	say("C09 set: %d", FD_ISSET(p[0], in) != 0);
	FD_SET(p[1], &set);
	in = PUT(set);
	say("C09 pselect, writable: %d",
	    pselect(p[1] + 1, NULL, in, PUT(set), PUT(later), NULL));
	say("C09 set: %d %d", FD_ISSET(p[0], in) != 0, FD_ISSET(p[1], in) != 0);
	say_rc("C09 epoll_ctl", epoll_ctl(ep, EPOLL_CTL_ADD, p[0], PUT(ev)));
	got = ROOM(struct epoll_event);
	say("C09 epoll_wait: %d", epoll_wait(ep, got, 1, 5000));
	say("C09 event: %u", got->data.u32);
	got = ROOM(struct epoll_event);
	say("C09 epoll_pwait: %d", epoll_pwait(ep, got, 1, 5000, PUT(none)));
	say("C09 event: %u", got->data.u32);
	got = ROOM(struct epoll_event);
	say("C09 epoll_pwait, no mask: %d",
	    epoll_pwait(ep, got, 1, 5000, NULL));
	got = ROOM(struct epoll_event);
	say("C09 epoll_pwait2: %d",
	    epoll_pwait2(ep, got, 1, PUT(later), PUT(none)));
	say("C09 event: %u", got->data.u32);
	close(p[0]);
	close(p[1]);
	close(ep);
}

static void messages(void)
{
	struct mmsghdr out[2] = { 0 }, in[2] = { 0 }, *v;
	struct iovec io[2];
	struct timespec later = { 5, 0 };
	int *s = put(NULL, 2 * sizeof(int));
	char *a, *b;

	say_rc("C09 socketpair", socketpair(AF_UNIX, SOCK_DGRAM, 0, s));
	io[0] = (struct iovec){ put("first", 6), 6 };
	io[1] = (struct iovec){ put("second one", 11), 11 };
	out[0].msg_hdr.msg_iov = PUT(io[0]);
	out[0].msg_hdr.msg_iovlen = 1;
	out[1].msg_hdr.msg_iov = PUT(io[1]);
	out[1].msg_hdr.msg_iovlen = 1;
	v = PUT(out);
	say("C09 sendmmsg: %d", sendmmsg(s[0], v, 2, 0));
	say("C09 lengths: %u %u", v[0].msg_len, v[1].msg_len);
	a = put(NULL, 20);
	b = put(NULL, 20);
	io[0] = (struct iovec){ a, 20 };
	io[1] = (struct iovec){ b, 20 };
	in[0].msg_hdr.msg_iov = PUT(io[0]);
	in[0].msg_hdr.msg_iovlen = 1;
	in[1].msg_hdr.msg_iov = PUT(io[1]);
	in[1].msg_hdr.msg_iovlen = 1;
	v = PUT(in);
	say("C09 recvmmsg: %d", recvmmsg(s[1], v, 2, 0, PUT(later)));
	say("C09 messages: %u %s, %u %s", v[0].msg_len, a, v[1].msg_len, b);
	say("C09 recvmmsg, nothing there: %s",
	    ct_errno(recvmmsg(s[1], PUT(in), 2, MSG_DONTWAIT, NULL) == -1));
	close(s[0]);
	close(s[1]);
}

static void vectors(void)
{
	struct iovec io[2];
	char *a = put("one ", 4), *b = put("two", 4);
	int f = ct_file("vectors", PAGE);
	off_t in = 0, out = 100, *pin, *pout;

	io[0] = (struct iovec){ a, 4 };
	io[1] = (struct iovec){ b, 4 };
	say("C09 writev: %zd", writev(f, PUT(io), 2));
	say("C09 pwritev: %zd", pwritev(f, PUT(io), 2, 8));
	say("C09 pwritev2: %zd", pwritev2(f, PUT(io), 2, 16, 0));
	say("C09 syscall pwritev: %ld",
	    syscall(SYS_pwritev, f, PUT(io), 2, 24l, 0l));
	a = put(NULL, 16);
	b = put(NULL, 16);
	io[0] = (struct iovec){ a, 16 };
	io[1] = (struct iovec){ b, 16 };
	say("C09 preadv: %zd", preadv(f, PUT(io), 2, 0));
	say("C09 read: %.7s, %.7s", a, b);
	say("C09 syscall preadv: %ld",
	    syscall(SYS_preadv, f, PUT(io), 2, 8l, 0l));
	say("C09 syscall getrandom: %ld",
	    syscall(SYS_getrandom, put(NULL, 16), 16l, 0l));
	pin = PUT(in);
	pout = PUT(out);
	say("C09 copy_file_range: %zd",
	    copy_file_range(f, pin, f, pout, 32, 0));
	say("C09 offsets: %ld %ld", (long)*pin, (long)*pout);
	close(f);
}

static void children(void)
{
	struct rusage *use;
	siginfo_t *info;
	int *status;
	pid_t pid;

#define CHILD(code) do { pid = fork(); if (!pid) _exit(code); } while (0)
	CHILD(3);
	status = ROOM(int);
	say("C09 waitpid: %d", waitpid(pid, status, 0) == pid);
	say("C09 status: %d", WEXITSTATUS(*status));
	CHILD(4);
	status = ROOM(int);
	say("C09 wait: %d", wait(status) == pid);
	say("C09 status: %d", WEXITSTATUS(*status));
	CHILD(5);
	status = ROOM(int);
	use = ROOM(struct rusage);
	memset(use, 0xee, sizeof(*use));
	say("C09 wait4: %d", wait4(pid, status, 0, use) == pid);
	say("C09 status: %d, %d", WEXITSTATUS(*status),
	    use->ru_maxrss > 0 && use->ru_maxrss < 1 << 30);
	CHILD(6);
	info = ROOM(siginfo_t);
	say_rc("C09 waitid", waitid(P_PID, (id_t)pid, info, WEXITED));
	say("C09 info: %d, %d", info->si_pid == pid, info->si_status);
}

static void clocks(void)
{
	struct timespec brief = { 0, 1000 }, *left = ROOM(struct timespec);
	struct itimerval off = { 0 }, *old = ROOM(struct itimerval);
	struct itimerspec far = { .it_value = { 1000, 0 } }, *now;
	struct timespec times[2] = { { 1000, 0 }, { 2000, 0 } };
	struct stat st;
	timer_t timer;
	int t = timerfd_create(CLOCK_MONOTONIC, 0);

	say_rc("C09 nanosleep", nanosleep(PUT(brief), left));
	say("C09 clock_nanosleep: %d",
	    clock_nanosleep(CLOCK_MONOTONIC, 0, PUT(brief), left));
	say_rc("C09 setitimer", setitimer(ITIMER_REAL, PUT(off), old));
	say("C09 old: %ld", (long)old->it_value.tv_sec);
	say_rc("C09 timerfd_settime",
	       timerfd_settime(t, 0, PUT(far), ROOM(struct itimerspec)));
	now = ROOM(struct itimerspec);
	say_rc("C09 timerfd_gettime", timerfd_gettime(t, now));
	say("C09 left: %d", now->it_value.tv_sec > 900);
	if (timer_create(CLOCK_MONOTONIC,
			 &(struct sigevent){ .sigev_notify = SIGEV_NONE },
			 &timer))
		ct_die("timer_create");
	say_rc("C09 timer_settime",
	       timer_settime(timer, 0, PUT(far), ROOM(struct itimerspec)));
	now = ROOM(struct itimerspec);
	say_rc("C09 timer_gettime", timer_gettime(timer, now));
	say("C09 left: %d", now->it_value.tv_sec > 900);
	say_rc("C09 futimens", futimens(fd, PUT(times)));
	fstat(fd, &st);
	say("C09 atime, mtime: %ld %ld", (long)st.st_atime, (long)st.st_mtime);
	close(t);
}

static void system_things(void)
{
	struct rlimit lim, *l = ROOM(struct rlimit);
	struct utsname *u = ROOM(struct utsname), real;
	cpu_set_t *cpus = ROOM(cpu_set_t);
	struct rusage *use = ROOM(struct rusage);
	int *p = put(NULL, 2 * sizeof(int));
	char *name;
	int f;

	say_rc("C09 uname", uname(u));
	uname(&real);
	say("C09 same: %d", !strcmp(u->release, real.release));
	say_rc("C09 getrlimit", getrlimit(RLIMIT_NOFILE, l));
	getrlimit(RLIMIT_NOFILE, &lim);
	say("C09 same: %d",
	    l->rlim_cur == lim.rlim_cur && l->rlim_max == lim.rlim_max);
	say_rc("C09 setrlimit", setrlimit(RLIMIT_NOFILE, PUT(lim)));
	say_rc("C09 prlimit",
	       prlimit(0, RLIMIT_NOFILE, PUT(lim), ROOM(struct rlimit)));
	say_rc("C09 getrusage", getrusage(RUSAGE_SELF, use));
	say_rc("C09 getaffinity", sched_getaffinity(0, sizeof(*cpus), cpus));
	say("C09 cpus: %d", CPU_COUNT(cpus) > 0);
	say_rc("C09 setaffinity", sched_setaffinity(0, sizeof(*cpus), cpus));
	say_rc("C09 pipe", pipe(p));
	say("C09 write: %zd", write(p[1], "x", 1));
	close(p[0]);
	close(p[1]);
	name = put("made.XXXXXX", 12);
	f = mkstemp(name);
	say_rc("C09 mkstemp", f);
	say("C09 named: %d, %s", strcmp(name, "made.XXXXXX") != 0,
	    ct_errno(unlink(name)));
	close(f);
}

int capget(struct __user_cap_header_struct *h,
	   struct __user_cap_data_struct *data);

static void who(void)
{
	struct __user_cap_header_struct h = {
		.version = _LINUX_CAPABILITY_VERSION_3
	}, old = { .version = 1 }, *hp = PUT(h);
	struct __user_cap_data_struct *caps = put(NULL, 2 * sizeof(*caps)),
				      real[2];
	uid_t *u = ROOM(uid_t), *eu = ROOM(uid_t), *su = ROOM(uid_t);
	gid_t *g = ROOM(gid_t), *eg = ROOM(gid_t), *sg = ROOM(gid_t);
	struct sched_param *prio = ROOM(struct sched_param);
	struct timespec *slice = ROOM(struct timespec);

	say_rc("C09 getresuid", getresuid(u, eu, su));
	say("C09 same: %d", *u == getuid() && *eu == geteuid() && *su == *u);
	say_rc("C09 getresgid", getresgid(g, eg, sg));
	say("C09 same: %d", *g == getgid() && *eg == getegid() && *sg == *g);
	say_rc("C09 capget", capget(hp, caps));
	say("C09 same: %d", !capget(&h, real) &&
			    !memcmp(caps, real, sizeof(real)));
	hp = PUT(old);
	say_rc("C09 capget, version", capget(hp, caps));
	say("C09 version: %#x", hp->version);
	memset(prio, 7, sizeof(*prio));
	say_rc("C09 getparam", sched_getparam(0, prio));
	say("C09 priority: %d", prio->sched_priority);
	say_rc("C09 setparam", sched_setparam(0, prio));
	say_rc("C09 setscheduler", sched_setscheduler(0, SCHED_OTHER, prio));
	say_rc("C09 interval", sched_rr_get_interval(0, slice));
}

static void more_clocks(void)
{
	struct timex ask = { 0 }, *t = PUT(ask);
	struct timespec *cpu = ROOM(struct timespec), *res;

	say("C09 adjtimex: %d", adjtimex(t) >= 0);
	say("C09 tick: %d", t->tick > 0);
	t = PUT(ask);
	say("C09 clock_adjtime: %d", clock_adjtime(CLOCK_REALTIME, t) >= 0);
	memset(cpu, 0xff, sizeof(*cpu));
	say_rc("C09 clock_gettime", clock_gettime(CLOCK_THREAD_CPUTIME_ID, cpu));
	say("C09 time: %d", cpu->tv_sec >= 0);
	res = ROOM(struct timespec);
	say_rc("C09 clock_getres", clock_getres(CLOCK_THREAD_CPUTIME_ID, res));
	say("C09 resolution: %ld", res->tv_nsec);
}

static void handles(void)
{
	struct file_handle *h = put(NULL, sizeof(*h) + 128),
			   *few = put(NULL, sizeof(*h) + 128);
	const char *name = ct_path("args");
	int *id = ROOM(int);

	h->handle_bytes = 128;
	say_rc("C09 name_to_handle_at",
	       name_to_handle_at(AT_FDCWD, put(name, strlen(name) + 1), h, id,
				 0));
	say("C09 type: %d, %d", h->handle_type != 0, *id > 0);
	few->handle_bytes = 0;
	say_rc("C09 name_to_handle_at, short",
	       name_to_handle_at(AT_FDCWD, name, few, id, 0));
	say("C09 needs: %d", few->handle_bytes == h->handle_bytes);
	say_rc("C09 memfd_create", memfd_create(put("name", 5), 0));
}

static void more_queues(void)
{
	struct { long type; char text[8]; } m = { 3, "message" };
	unsigned short values[3] = { 4, 5, 6 }, *got;
	int q = msgget(IPC_PRIVATE, 0600), s = semget(IPC_PRIVATE, 3, 0600);
	struct msqid_ds *info = ROOM(struct msqid_ds);
	struct semid_ds *set = ROOM(struct semid_ds);

	say_rc("C09 msgsnd", msgsnd(q, PUT(m), sizeof(m.text), 0));
	say_rc("C09 msgctl", msgctl(q, IPC_STAT, info));
	say("C09 messages: %lu", (unsigned long)info->msg_qnum);
	msgctl(q, IPC_RMID, NULL);
	say_rc("C09 semctl, all", semctl(s, 0, SETALL, PUT(values)));
	got = put(NULL, sizeof(values));
	say_rc("C09 semctl, all", semctl(s, 0, GETALL, got));
	say("C09 values: %d %d %d", got[0], got[1], got[2]);
	say_rc("C09 semctl", semctl(s, 0, IPC_STAT, set));
	say("C09 semaphores: %lu", (unsigned long)set->sem_nsems);
	semctl(s, 0, IPC_RMID);
}

static void signals(void)
{
	struct timespec later = { 5, 0 }, none = { 0, 0 };
	sigset_t set, *old = ROOM(sigset_t);
	siginfo_t *info = ROOM(siginfo_t);
	int s, *sig = ROOM(int);

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	say_rc("C09 sigprocmask", sigprocmask(SIG_BLOCK, PUT(set), old));
	say("C09 was blocked: %d", sigismember(old, SIGUSR1));
	kill(getpid(), SIGUSR1);
	old = ROOM(sigset_t);
	say_rc("C09 sigpending", sigpending(old));
	say("C09 pending: %d", sigismember(old, SIGUSR1));
	say("C09 sigtimedwait: %d",
	    sigtimedwait(PUT(set), info, PUT(later)) == SIGUSR1);
	say("C09 from me: %d", info->si_pid == getpid());
	say_rc("C09 sigtimedwait",
	       sigtimedwait(PUT(set), ROOM(siginfo_t), PUT(none)));
	kill(getpid(), SIGUSR1);
	say("C09 sigwait: %d", sigwait(PUT(set), sig));
	say("C09 signal: %d", *sig == SIGUSR1);
	s = signalfd(-1, PUT(set), SFD_NONBLOCK);
	say_rc("C09 signalfd", s);
	kill(getpid(), SIGUSR1);
	say("C09 read: %d", read(s, put(NULL, sizeof(struct signalfd_siginfo)),
				 sizeof(struct signalfd_siginfo)) ==
				 sizeof(struct signalfd_siginfo));
	close(s);
	sigprocmask(SIG_UNBLOCK, &set, NULL);
}

static void queues(void)
{
	struct sembuf up = { 0, 1, 0 };
	struct mq_attr attr = { .mq_maxmsg = 4, .mq_msgsize = 64 }, *now;
	struct timespec end;
	unsigned *prio = ROOM(unsigned);
	char name[40], *text;
	int sem = semget(IPC_PRIVATE, 1, 0600);
	mqd_t q;

	say_rc("C09 semop", sem < 0 ? -1 : semop(sem, PUT(up), 1));
	semctl(sem, 0, IPC_RMID);
	snprintf(name, sizeof(name), "/ct-args-%d", getpid());
	q = mq_open(name, O_RDWR | O_CREAT, 0600, &attr);
	if (q < 0)
		return say("C09 mq_open: %s", ct_errno(true));
	mq_unlink(name);
	clock_gettime(CLOCK_REALTIME, &end);
	end.tv_sec += 5;
	say_rc("C09 mq_timedsend",
	       mq_timedsend(q, put("hello", 6), 6, 7, PUT(end)));
	say_rc("C09 mq_send", mq_send(q, put("again", 6), 6, 3));
	now = ROOM(struct mq_attr);
	say_rc("C09 mq_getattr", mq_getattr(q, now));
	say("C09 messages: %ld", now->mq_curmsgs);
	text = put(NULL, 64);
	say("C09 mq_receive: %zd", mq_receive(q, text, 64, prio));
	say("C09 message: %s %u", text, *prio);
	text = put(NULL, 64);
	prio = ROOM(unsigned);
	say("C09 mq_timedreceive: %zd",
	    mq_timedreceive(q, text, 64, prio, PUT(end)));
	say("C09 message: %s %u", text, *prio);
	mq_close(q);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	events();
	messages();
	vectors();
	children();
	clocks();
	system_things();
	who();
	more_clocks();
	handles();
	signals();
	queues();
	more_queues();
	return 0;
}
