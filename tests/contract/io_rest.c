/* SPDX-License-Identifier: MIT */
/*
 * C31r: what a call does not store stays as it is: members that another thread
 * changes while the call waits, padding, and what lies behind what it fills.
 */
#include "ct.h"

#include <dirent.h>
#include <poll.h>
#include <pthread.h>
#include <stddef.h>
#include <sys/prctl.h>
#include <sys/shm.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <time.h>

#define N 16ul
#define MARK 0x5a

static int fd = -1;
static char *map;
static char *at; /* eight bytes before a page boundary, absent pages */

static void fresh(void)
{
	if (map)
		munmap(map, N * PAGE);
	map = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);
	at = map + 3 * PAGE - 8;
}

static void marked(size_t n)
{
	fresh();
	memset(at, MARK, n);
	msync(map, N * PAGE, MS_SYNC);
	madvise(map, N * PAGE, MADV_DONTNEED);
}

/* How many of the bytes are not as `marked` left them. */
static size_t changed(const void *from, size_t n)
{
	const unsigned char *p = from;
	size_t k = 0;

	for (size_t i = 0; i < n; i++)
		k += p[i] != MARK;
	return k;
}

/* ---- while a call waits -------------------------------------------------- */

static void *change(void *arg)
{
	usleep(60000);
	memset(arg, MARK, 6); /* fd and events */
	return NULL;
}

static void *change_time(void *arg)
{
	usleep(60000);
	memset(arg, MARK, sizeof(struct timespec));
	return NULL;
}

static pthread_t start(void *(*fn)(void *), void *arg)
{
	pthread_t t;

	if (pthread_create(&t, NULL, fn, arg))
		ct_die("pthread_create");
	return t;
}

static struct pollfd *two(int p)
{
	struct pollfd *v;

	fresh();
	v = (void *)at;
	v[0] = v[1] = (struct pollfd){ p, POLLIN, 0x7777 };
	return v;
}

static void waits(int p)
{
	const struct timespec t = { 0, 250000000 };
	struct pollfd *v = two(p);
	pthread_t other = start(change, v + 1);
	int r = poll(v, 2, 250);

	pthread_join(other, NULL);
	say("C31r poll: %d, %zu changed, revents %x %x", r, changed(v + 1, 6),
	    v[0].revents, v[1].revents);
	v = two(p);
	other = start(change, v + 1);
	r = ppoll(v, 2, &t, NULL);
	pthread_join(other, NULL);
	say("C31r ppoll: %d, %zu changed, revents %x %x", r, changed(v + 1, 6),
	    v[0].revents, v[1].revents);
}

static void sleeps(void)
{
	const struct timespec t = { 0, 250000000 };
	pthread_t other;
	int r;

	marked(16);
	*(volatile char *)at = 0;
	other = start(change_time, at);
	r = nanosleep(&t, (void *)at);
	pthread_join(other, NULL);
	say("C31r nanosleep: %d, %zu changed", r, changed(at, 16));
	marked(16);
	*(volatile char *)at = 0;
	other = start(change_time, at);
	r = clock_nanosleep(CLOCK_MONOTONIC, 0, &t, (void *)at);
	pthread_join(other, NULL);
	say("C31r clock_nanosleep: %d, %zu changed", r, changed(at, 16));
}

/* ---- a signal ends it ---------------------------------------------------- */

static void on_alarm(int sig)
{
}

static void alarms(int ms)
{
	const struct itimerval t = { { 0, ms * 1000 }, { 0, ms * 1000 } };

	setitimer(ITIMER_REAL, &t, NULL);
}

static void interrupted(int p)
{
	const struct timespec t = { 5, 0 };
	struct timespec *left;
	struct pollfd *v;

	sigaction(SIGALRM, &(struct sigaction){ .sa_handler = on_alarm }, NULL);
	v = two(p);
	alarms(50);
	say_rc("C31r poll, signal", poll(v, 2, 5000));
	say("C31r revents: %x %x", v[0].revents, v[1].revents);
	v = two(p);
	say_rc("C31r ppoll, signal", ppoll(v, 2, &t, NULL));
	say("C31r revents: %x %x", v[0].revents, v[1].revents);
	marked(16);
	left = (void *)at;
	say_rc("C31r nanosleep, signal", nanosleep(&t, left));
	say("C31r left: %d", left->tv_sec == 4);
	marked(16);
	say("C31r clock_nanosleep, signal: %d",
	    clock_nanosleep(CLOCK_MONOTONIC, 0, &t, left) == EINTR);
	say("C31r left: %d", left->tv_sec == 4);
	alarms(0);
}

/* ---- what lies between and behind ---------------------------------------- */

static void directory(void)
{
	struct dirent64 *d;
	size_t wrong = 0;
	ssize_t n;
	int dir = open("/", O_RDONLY | O_DIRECTORY);

	marked(2 * PAGE);
	n = getdents64(dir, at, 2 * PAGE);
	for (ssize_t i = 0; i < n; i += d->d_reclen) {
		size_t used;

		d = (void *)(at + i);
		used = offsetof(struct dirent64, d_name) + strlen(d->d_name) +
		       1;
		wrong += changed(at + i + used, d->d_reclen - used);
	}
	say("C31r getdents64: %d, %zu changed", n > 0, wrong);
	close(dir);
}

static void current(void)
{
	size_t used;

	marked(3000);
	say("C31r getcwd: %d", getcwd(at, 3000) == at);
	used = strlen(at) + 1;
	say("C31r behind: %zu changed", changed(at + used, 3000 - used));
}

static void children(const char *what)
{
	siginfo_t *info, other;
	int pid = fork();

	if (!pid)
		_exit(3);
	marked(sizeof(*info));
	info = (void *)at;
	say_rc(what, waitid(P_ALL, 0, info, WEXITED));
	say("C31r status: %d, %zu changed", info->si_status,
	    changed(at + 28, sizeof(*info) - 28));
	marked(sizeof(*info));
	say_rc(what, waitid(P_ALL, 0, info, WEXITED));
	say("C31r signo: %d, %zu changed", info->si_signo,
	    changed(at + 28, sizeof(*info) - 28));
	memset(&other, MARK, sizeof(other));
	pid = fork();
	if (!pid)
		_exit(4);
	say_rc(what, waitid(P_ALL, 0, &other, WEXITED));
	say("C31r status: %d, %zu changed", other.si_status,
	    changed((char *)&other + 28, sizeof(other) - 28));
	memset(&other, MARK, sizeof(other));
	say_rc(what, waitid(P_ALL, 0, &other, WEXITED));
	say("C31r signo: %d, %zu changed", other.si_signo,
	    changed((char *)&other + 28, sizeof(other) - 28));
}

/* A descriptor takes 20 bytes, and room for 24. */
static void control(void)
{
	_Alignas(struct cmsghdr) char room[64] = { 0 };
	struct iovec v = { (char[1]){ 'x' }, 1 };
	struct msghdr h = { .msg_iov = &v, .msg_iovlen = 1, .msg_control = room,
			    .msg_controllen = CMSG_SPACE(sizeof(int)) };
	struct cmsghdr *c = CMSG_FIRSTHDR(&h);
	int s[2];

	socketpair(AF_UNIX, SOCK_DGRAM, 0, s);
	*c = (struct cmsghdr){ CMSG_LEN(sizeof(int)), SOL_SOCKET, SCM_RIGHTS };
	memcpy(CMSG_DATA(c), &s[0], sizeof(int));
	say("C31r sendmsg: %zd", sendmsg(s[0], &h, 0));
	marked(64);
	h.msg_control = at;
	h.msg_controllen = 64;
	say("C31r recvmsg: %zd", recvmsg(s[1], &h, 0));
	say("C31r control: %zu, %zu changed", (size_t)h.msg_controllen,
	    changed(at + 20, 44));
	close(s[0]);
	close(s[1]);
}

static void address(void)
{
	char *ro = ct_map(fd, PAGE, PROT_READ, MAP_SHARED, 0);
	socklen_t *len;
	char b[4];
	int s[2];

	socketpair(AF_UNIX, SOCK_DGRAM, 0, s);
	say("C31r send: %zd", send(s[0], "abc", 3, 0));
	say_rc("C31r recvfrom, no address",
	       recvfrom(s[1], b, 3, 0, NULL, (void *)ro) == 3 ? 0 : -1);
	fresh();
	len = (void *)at;
	*len = 0;
	say_rc("C31r getsockopt",
	       getsockopt(s[0], SOL_SOCKET, SO_PEERGROUPS, at + 16, len));
	say("C31r length: %d", *len > 0);
	close(s[0]);
	close(s[1]);
	munmap(ro, PAGE);
}

static void shared_memory(void)
{
	int id = shmget(IPC_PRIVATE, PAGE, IPC_CREAT | 0600);
	struct shmid_ds ds;
	char *ro;

	marked(200);
	say_rc("C31r shmctl", shmctl(id, IPC_STAT, (void *)at));
	say("C31r behind: %zu changed", changed(at + sizeof(ds), 80));
	memcpy(&ds, at, sizeof(ds));
	marked(200);
	say("C31r SHM_INFO: %d", shmctl(id, SHM_INFO, (void *)at) >= 0);
	say("C31r behind: %zu changed",
	    changed(at + sizeof(struct shm_info), 100));
	ct_pwrite(fd, &ds, sizeof(ds), 0);
	ro = ct_map(fd, PAGE, PROT_READ, MAP_SHARED, 0);
	say_rc("C31r IPC_SET", shmctl(id, IPC_SET, (void *)ro));
	munmap(ro, PAGE);
	say_rc("C31r IPC_RMID", shmctl(id, IPC_RMID, NULL));
}

int main(int argc, char **argv)
{
	int p[2];

	ct_begin(argc, argv);
	fd = ct_file("rest", N * PAGE);
	if (pipe(p))
		ct_die("pipe");
	waits(p[0]);
	sleeps();
	interrupted(p[0]);
	directory();
	current();
	children("C31r waitid");
	prctl(PR_SET_CHILD_SUBREAPER, 1, 0, 0, 0);
	children("C31r waitid, orphans");
	control();
	address();
	shared_memory();
	return 0;
}
