/* SPDX-License-Identifier: MIT */
/*
 * C98: threads store to two files, which are handed to the kernel for several
 * reasons, two at a time, and the process ends in the midst of it in one way or
 * another. What a thread had stored before it noted that elsewhere is there for
 * it, for read(2) and, after the end, in the file.
 */
#include "ct.h"

#include <linux/futex.h>
#include <pthread.h>
#include <stdatomic.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#define PAGES 48
#define LEN (PAGES * PAGE)
#define FILES 2
#define THREADS 3
#define ROUNDS ct_rounds(20, 40)
#define HEIR 70 /* a descriptor that the programs we run inherit */

enum cause { FUTEX, FORK, VFORK, SYSTEM, SEND, NONE, CAUSES };
enum end { UNMAP, EXIT, NOW, EXEC, KILL, ENDS };

static struct {
	_Atomic uint32_t stored[FILES][THREADS][PAGES];
	_Atomic uint32_t bad;
} *noted; /* shared with who looks at the files */

static int fds[FILES];
static char *map[FILES];
static atomic_int stop;
static int nround;

static size_t spot(int t, int page)
{
	return (size_t)page * PAGE + 64 * (size_t)(t + 1);
}

static uint32_t in_file(int fd, size_t off)
{
	uint32_t v = 0;

	return pread(fd, &v, sizeof(v), (off_t)off) == sizeof(v) ? v : 0;
}

static void store(int t, int f, int page, uint32_t k)
{
	volatile uint32_t *p = (void *)(map[f] + spot(t, page));

	*p = k;
	atomic_store(&noted->stored[f][t][page], k);
	atomic_fetch_add(&noted->bad, *p != k);
	if (k % 64 == 0)
		atomic_fetch_add(&noted->bad,
				 in_file(fds[f], spot(t, page)) != k);
}

static void *stores(void *arg)
{
	int t = (int)(intptr_t)arg;
	uint32_t k = 0;

	while (!atomic_load(&stop)) {
		k++;
		store(t, (int)(k & 1), (int)(k * 7 % PAGES), k);
	}
	return NULL;
}

/* ---- why they are handed over ------------------------------------------ */

static void heir(int f, bool on)
{
	if (on)
		dup2(fds[f], HEIR + f);
	else
		close(HEIR + f);
}

static void child(bool shares)
{
	pid_t pid = shares ? vfork() : fork();
	volatile char *m = map[0];

	if (!pid && shares)
		execl("/bin/true", "true", NULL);
	if (!pid)
		_exit(m[0] == 77);
	ct_ended(pid);
}

static void send_it(int fd)
{
	char c = 0, room[CMSG_SPACE(sizeof(int))] = "";
	struct iovec v = { &c, 1 };
	struct msghdr h = { .msg_iov = &v,
			    .msg_iovlen = 1,
			    .msg_control = room,
			    .msg_controllen = sizeof(room) };
	struct cmsghdr *m = CMSG_FIRSTHDR(&h);
	int s[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s))
		return;
	m->cmsg_level = SOL_SOCKET;
	m->cmsg_type = SCM_RIGHTS;
	m->cmsg_len = CMSG_LEN(sizeof(int));
	memcpy(CMSG_DATA(m), &fd, sizeof(fd));
	sendmsg(s[0], &h, 0);
	close(s[0]);
	close(s[1]);
}

static void hand_over(enum cause why, int f)
{
	heir(f, why == VFORK || why == SYSTEM);
	if (why == FUTEX)
		syscall(SYS_futex, map[f], FUTEX_WAKE, 1, NULL, NULL, 0);
	else if (why == FORK || why == VFORK)
		child(why == VFORK);
	else if (why == SYSTEM && system("true"))
		_exit(9);
	else if (why == SEND)
		send_it(fds[f]);
}

static void *other_cause(void *arg)
{
	usleep((useconds_t)(nround * 37 % 300));
	hand_over((enum cause)(nround / 2 % CAUSES), 1);
	return arg;
}

static void open_both(void)
{
	for (int f = 0; f < FILES; f++) {
		fds[f] = open(ct_path(f ? "b" : "a"), O_RDWR | O_CLOEXEC);
		if (fds[f] < 0)
			ct_die("file");
	}
}

/* ---- a process ---------------------------------------------------------- */

static void end(enum end how, pthread_t *ids, pthread_t other)
{
	if (how == EXIT)
		exit(0);
	if (how == NOW)
		_exit(0);
	if (how == EXEC)
		execl("/bin/true", "true", NULL);
	if (how == KILL)
		kill(getpid(), SIGKILL);
	atomic_store(&stop, 1);
	for (int t = 0; t < THREADS; t++)
		pthread_join(ids[t], NULL);
	pthread_join(other, NULL);
	for (int f = 0; f < FILES; f++)
		munmap(map[f], LEN);
	_exit(0);
}

static int process(void *arg)
{
	pthread_t ids[THREADS], other;

	open_both();
	for (int f = 0; f < FILES; f++)
		map[f] = ct_map(fds[f], LEN, RW, MAP_SHARED, 0);
	for (int t = 0; t < THREADS; t++)
		pthread_create(&ids[t], NULL, stores, (void *)(intptr_t)t);
	usleep(2000);
	pthread_create(&other, NULL, other_cause, NULL);
	usleep((useconds_t)(nround * 53 % 400));
	if (nround % 3)
		hand_over((enum cause)(nround % CAUSES), 0);
	usleep((useconds_t)(nround * 91 % 700));
	end((enum end)(nround % ENDS), ids, other);
	return 0;
}

static int lost(void)
{
	int n = 0;

	for (int f = 0; f < FILES; f++)
		for (int t = 0; t < THREADS; t++)
			for (int i = 0; i < PAGES; i++)
				n += in_file(fds[f], spot(t, i)) <
				     noted->stored[f][t][i];
	return n;
}

/* Who has been killed is written back by another process, soon. */
static int lost_at_last(bool killed)
{
	int n = 0;

	open_both();
	for (int ms = 0; ms < 5000 && (n = lost()) && killed; ms++)
		usleep(1000);
	for (int f = 0; f < FILES; f++)
		close(fds[f]);
	return n;
}

static int one(void)
{
	int n;

	memset(noted->stored, 0, sizeof(noted->stored));
	close(ct_file("a", LEN));
	close(ct_file("b", LEN));
	for (int f = 0; f < FILES; f++)
		if (truncate(ct_path(f ? "b" : "a"), 0) ||
		    truncate(ct_path(f ? "b" : "a"), LEN))
			ct_die("truncate");
	ct_child(process, NULL);
	n = lost_at_last(nround % ENDS == KILL);
	unlink(ct_path("a"));
	unlink(ct_path("b"));
	return n;
}

int main(int argc, char **argv)
{
	int n = 0;

	ct_begin(argc, argv);
	noted = mmap(NULL, sizeof(*noted), RW, MAP_SHARED | MAP_ANONYMOUS, -1,
		     0);
	for (nround = 0; nround < ROUNDS; nround++) {
		int more = one();

		if (more)
			fprintf(stderr, "round %d (causes %d, %d, end %d): %d\n",
				nround, nround % CAUSES, nround / 2 % CAUSES,
				nround % ENDS, more);
		n += more;
	}
	say("C98 lost %d, other bytes %u", n, (unsigned)noted->bad);
	return 0;
}
