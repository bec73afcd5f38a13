/* SPDX-License-Identifier: MIT */
/*
 * C48: another process writes to our file by write(2), closes it, and sends us
 * word: through a pipe, a socket, a message queue, a semaphore, by a signal, or
 * by making another file. What it wrote is there when we have the word, and
 * stays when we store beside it.
 */
#include "peers.h"

#include <mqueue.h>
#include <semaphore.h>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/uio.h>
#include <sys/wait.h>

#define PAGES 64
#define ROUNDS 130
#define WORD 60 /* descriptor of the other process */

enum way { READ, READV, RECV, RECVMSG, FGETS, GETC, MSG, SEM, MQ, SIGNAL, OPEN,
	   FOPEN, NAMED, WAYS };

struct letter {
	long type;
	char c;
};

static const char *self, *path, *flag;
static int queue, sem;
static mqd_t mq;
static sem_t *named;

/* ---- the other process ------------------------------------------------- */

static void send_word(enum way way)
{
	struct letter l = { 1, '!' };
	struct sembuf up = { 0, 1, 0 };
	bool ok = true;

	switch (way) {
	case MSG:
		ok = !msgsnd(queue, &l, 1, 0);
		break;
	case SEM:
		ok = !semop(sem, &up, 1);
		break;
	case MQ:
		ok = !mq_send(mq, "!", 1, 0);
		break;
	case NAMED:
		ok = !sem_post(named);
		break;
	case SIGNAL:
		ok = !kill(getppid(), SIGUSR1);
		break;
	case OPEN:
	case FOPEN:
		ok = open(flag, O_CREAT | O_WRONLY, 0644) >= 0;
		break;
	default:
		ok = write(WORD, "!\n", 2) == 2;
	}
	if (!ok)
		_exit(2);
}

/* WAY FILE OFFSET FLAG QUEUE SEMAPHORE MQ */
static void word_role(int argc, char **argv)
{
	int fd;

	if (argc < 10 || strcmp(argv[2], "word"))
		return;
	flag = argv[6];
	queue = atoi(argv[7]);
	sem = atoi(argv[8]);
	mq = mq_open(argv[9], O_WRONLY);
	named = sem_open(argv[9], 0);
	fd = open(argv[4], O_WRONLY);
	if (fd < 0 || pwrite(fd, "Z", 1, atol(argv[5])) != 1)
		_exit(1);
	close(fd);
	send_word((enum way)atoi(argv[3]));
	usleep(30000); /* its end is not what tells */
	_exit(0);
}

/* ---- we ---------------------------------------------------------------- */

static char mq_name[32];

static pid_t start(size_t off, enum way way, bool native, int *ret_end)
{
	char num[4][32], *argv[] = { (char *)self, ct_dir, "word", num[0],
				     (char *)path, num[1], (char *)flag,
				     num[2], num[3], mq_name, NULL };
	int p[2];
	pid_t pid;

	snprintf(num[0], 32, "%d", way);
	snprintf(num[1], 32, "%zu", off);
	snprintf(num[2], 32, "%d", queue);
	snprintf(num[3], 32, "%d", sem);
	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, p))
		ct_die("socketpair");
	if (way != RECV && way != RECVMSG) {
		close(p[0]);
		close(p[1]);
		if (pipe2(p, O_CLOEXEC))
			ct_die("pipe");
	}
	pid = peer_spawn(argv, p[1], WORD, native);
	*ret_end = p[0];
	return pid;
}

static bool get_by_stream(enum way way, int end)
{
	char text[8] = "";
	FILE *fp = fdopen(dup(end), "r");
	bool ok = fp && (way == FGETS ? fgets(text, sizeof(text), fp) &&
					text[0] == '!' :
					getc(fp) == '!');

	if (fp)
		fclose(fp);
	return ok;
}

static bool get_by_signal(void)
{
	sigset_t set;
	int sig = 0;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	return !sigwait(&set, &sig) && sig == SIGUSR1;
}

static bool get_by_file(enum way way)
{
	int fd = -1;
	FILE *fp = NULL;

	while (fd < 0 && !fp) {
		if (way == OPEN)
			fd = open(flag, O_RDONLY);
		else
			fp = fopen(flag, "r");
	}
	if (fp)
		fclose(fp);
	else
		close(fd);
	return !unlink(flag);
}

static bool get_word(enum way way, int end)
{
	char c[8];
	struct iovec v = { c, 2 };
	struct msghdr m = { .msg_iov = &v, .msg_iovlen = 1 };
	struct sembuf down = { 0, -1, 0 };
	struct letter l;

	switch (way) {
	case READ:
		return read(end, c, 2) == 2;
	case READV:
		return readv(end, &v, 1) == 2;
	case RECV:
		return recv(end, c, 2, 0) == 2;
	case RECVMSG:
		return recvmsg(end, &m, 0) == 2;
	case FGETS:
	case GETC:
		return get_by_stream(way, end);
	case MSG:
		return msgrcv(queue, &l, 1, 0, 0) == 1;
	case SEM:
		return !semop(sem, &down, 1);
	case MQ:
		return mq_receive(mq, c, sizeof(c), NULL) == 1;
	case NAMED:
		return !sem_wait(named);
	case SIGNAL:
		return get_by_signal();
	default:
		return get_by_file(way);
	}
}

static void rounds(bool stores)
{
	int fd = peer_file("f", PAGES * PAGE), stale = 0, lost = 0, end;
	volatile char *m = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);

	for (int i = 0; i < ROUNDS; i++) {
		size_t off = (size_t)(i % PAGES) * PAGE + 100 + (size_t)i;

		ct_pwrite(fd, "a", 1, (off_t)off);
		m[off + 1000] = 1;
		start(off, i % WAYS, i / WAYS % 2, &end);
		if (!get_word(i % WAYS, end))
			ct_die("no word");
		if (stores)
			m[off + 2000] = 2;
		stale += m[off] != 'Z';
		close(end);
	}
	while (wait(NULL) > 0)
		;
	munmap((void *)m, PAGES * PAGE);
	for (int i = 0; i < ROUNDS; i++)
		lost += ct_in_file(fd, (size_t)(i % PAGES) * PAGE + 100 +
					       (size_t)i) != 'Z';
	say("C48 %s: stale %d, lost %d", stores ? "stores" : "looks", stale,
	    lost);
	close(fd);
}

static void make_queues(void)
{
	struct mq_attr a = { .mq_maxmsg = 4, .mq_msgsize = 8 };
	sigset_t set;

	sigemptyset(&set);
	sigaddset(&set, SIGUSR1);
	sigprocmask(SIG_BLOCK, &set, NULL);
	snprintf(mq_name, sizeof(mq_name), "/fastmap-%d", (int)getpid());
	queue = msgget(IPC_PRIVATE, 0600);
	sem = semget(IPC_PRIVATE, 1, 0600);
	mq = mq_open(mq_name, O_CREAT | O_RDWR, 0600, &a);
	named = sem_open(mq_name, O_CREAT, 0600, 0);
	if (queue < 0 || sem < 0 || mq == (mqd_t)-1 || named == SEM_FAILED)
		ct_skip("no message queues or semaphores here");
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	word_role(argc, argv);
	self = argv[0];
	path = strdup(ct_path("f"));
	flag = strdup(ct_path("flag"));
	make_queues();
	rounds(false);
	rounds(true);
	msgctl(queue, IPC_RMID, NULL);
	semctl(sem, 0, IPC_RMID);
	mq_unlink(mq_name);
	sem_unlink(mq_name);
	return 0;
}
