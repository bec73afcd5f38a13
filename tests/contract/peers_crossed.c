/* SPDX-License-Identifier: MIT */
/*
 * C117: a process that is stopped has a file with stores that only its memory
 * has. Of another process two threads map it, one after the other, while a
 * third process asks that one for a file that it has stored to. What was stored
 * is there for both threads.
 */
#include "peers.h"

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/syscall.h>
#include <sys/wait.h>

#define PAGES 64
#define STORED 7 /* pages of the first file */
#define BOTH 9
#define DIRTY 600 /* of the second one */
#define ROUNDS (unsigned)ct_rounds(4, 8)
#define STEP_US (2000 / ROUNDS)
#define STOPPED_MS 60
#define WORD 60 /* descriptor of the other processes */

/* Of the first process, for all. */
struct said {
	_Atomic uint64_t stored;
	_Atomic int stop;
};

static struct said *said;

struct thread {
	pthread_t id;
	const char *path;
	unsigned delay_us;
	bool old;
};

static void *maps_late(void *arg)
{
	struct thread *t = arg;
	int fd = open(t->path, O_RDWR | O_CLOEXEC);
	uint64_t least;
	volatile char *m;

	usleep(t->delay_us);
	m = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0);
	least = atomic_load(&said->stored);
	t->old = *(volatile uint64_t *)(void *)(m + STORED * PAGE) < least;
	m[BOTH * PAGE + t->delay_us] = 'T';
	munmap((void *)m, PAGES * PAGE);
	close(fd);
	return NULL;
}

/* It stores, and says in memory that is not of the file what it has stored. */
static void stores_role(int argc, char **argv)
{
	volatile uint64_t *m;
	struct said *said;

	if (argc < 4 || strcmp(argv[2], "stores"))
		return;
	said = (struct said *)(void *)ct_map(WORD, PAGE, RW, MAP_SHARED, 0);
	m = (volatile uint64_t *)(void *)ct_map(open(argv[3], O_RDWR),
						PAGES * PAGE, RW, MAP_SHARED,
						0);
	for (uint64_t v = 1; !atomic_load(&said->stop); v++) {
		m[STORED * PAGE / 8] = v;
		m[BOTH * PAGE / 8] = v;
		atomic_store(&said->stored, v);
		usleep(100);
	}
	_exit(0);
}

static pid_t start_stores(const char *self, const char *x)
{
	char *argv[] = { (char *)self, ct_dir, "stores", (char *)x, NULL };
	int fd = (int)syscall(SYS_memfd_create, "said", MFD_CLOEXEC);
	pid_t pid;

	if (fd < 0 || ftruncate(fd, PAGE))
		ct_die("memfd");
	said = (struct said *)(void *)ct_map(fd, PAGE, RW, MAP_SHARED, 0);
	pid = peer_spawn(argv, fd, WORD, false);
	while (!atomic_load(&said->stored))
		usleep(1000);
	return pid;
}

/* The third process: opens and maps when it hears a byte. */
static void late_role(int argc, char **argv)
{
	char c = 'g';
	int fd;

	if (argc < 4 || strcmp(argv[2], "late"))
		return;
	if (write(WORD, &c, 1) != 1)
		_exit(1);
	while (read(WORD, &c, 1) == 1) {
		fd = open(argv[3], O_RDWR);
		c = ct_map(fd, PAGES * PAGE, RW, MAP_SHARED, 0)[5 * PAGE + 1];
		if (write(WORD, &c, 1) != 1)
			_exit(1);
	}
	_exit(0);
}

static pid_t start_late(const char *self, const char *y, int *ret_sock)
{
	char *argv[] = { (char *)self, ct_dir, "late", (char *)y, NULL };
	int s[2];

	if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, s))
		ct_die("socketpair");
	*ret_sock = s[0];
	return peer_spawn(argv, s[1], WORD, false);
}

static volatile char *dirty_map(void)
{
	int fd = peer_file("y", DIRTY * PAGE);
	volatile char *m = ct_map(fd, DIRTY * PAGE, RW, MAP_SHARED, 0);

	for (int i = 0; i < DIRTY; i++)
		m[i * PAGE + 1] = 'Y';
	close(fd);
	return m;
}

/* It is always dirty when it is asked for. */
static void store_for_ms(volatile char *m, int ms)
{
	for (int i = 0; i < ms; i++) {
		for (int k = 0; k < DIRTY; k++)
			m[k * PAGE + 2] = (char)i;
		usleep(1000);
	}
}

/* How many bytes were not there, or are not at the end. */
static int turn(const char *self, unsigned n, const char *x, const char *y)
{
	int fd = peer_file("x", PAGES * PAGE);
	struct thread t[2] = { { .path = x, .delay_us = 20 },
			       { .path = x, .delay_us = 500 + n * STEP_US } };
	pid_t a;
	volatile char *m;
	int bad = 0, sock, status;
	pid_t late;
	char c;

	close(fd); /* who has it open uses it */
	a = start_stores(self, x);
	m = dirty_map();
	late = start_late(self, y, &sock);
	if (read(sock, &c, 1) != 1) /* it has started */
		ct_die("read");
	kill(a, SIGSTOP);
	for (int i = 0; i < 2; i++)
		pthread_create(&t[i].id, NULL, maps_late, &t[i]);
	usleep(3000);
	if (write(sock, &c, 1) != 1)
		ct_die("write");
	store_for_ms(m, STOPPED_MS);
	kill(a, SIGCONT);
	for (int i = 0; i < 2; i++)
		pthread_join(t[i].id, NULL);
	bad += read(sock, &c, 1) != 1 || c != 'Y';
	munmap((void *)m, DIRTY * PAGE);
	atomic_store(&said->stop, 1);
	waitpid(a, &status, 0);
	munmap(said, PAGE);
	close(sock);
	waitpid(late, &status, 0);
	fd = open(x, O_RDONLY);
	for (int i = 0; i < 2; i++)
		bad += t[i].old +
		       (ct_in_file(fd, BOTH * PAGE + t[i].delay_us) != 'T');
	close(fd);
	return bad;
}

int main(int argc, char **argv)
{
	int bad = 0;

	ct_begin(argc, argv);
	stores_role(argc, argv);
	late_role(argc, argv);
	for (unsigned n = 0; n < ROUNDS; n++) {
		char *x = strdup(ct_path("x")), *y = strdup(ct_path("y"));

		bad += turn(argv[0], n, x, y);
		free(x);
		free(y);
	}
	say("C117: %d bytes were not there", bad);
	return 0;
}
