/* SPDX-License-Identifier: MIT */
/*
 * X05: a program forks while another thread sends word and writes its streams
 * out, its handlers for fork send and take word, too, and another process opens
 * the file that is mapped again and again: it goes on.
 */
#include "peers.h"

#include <pthread.h>
#include <semaphore.h>
#include <stdatomic.h>
#include <sys/wait.h>

#define PAGES 64
#define FORKS 150

static _Atomic int stop;
static sem_t *word;
static int null_fd;

static void opener_role(int argc, char **argv)
{
	if (argc < 4 || strcmp(argv[2], "opener"))
		return;
	for (int n = 0; n < 3000 && getppid() != 1; n++) {
		close(open(argv[3], O_RDONLY));
		usleep(3000);
	}
	_exit(0);
}

static void *writer(void *arg)
{
	FILE *fp = fopen("/dev/null", "w");

	while (!stop) {
		fputs("some words", fp);
		fflush(NULL);
		((volatile char *)arg)[5 * PAGE]++;
		sem_post(word);
		sem_wait(word);
	}
	fclose(fp);
	return NULL;
}

static void prepare(void)
{
	sem_post(word);
	if (write(null_fd, "w", 1) != 1)
		ct_die("write");
	sem_wait(word);
}

static void *shared_page(void)
{
	return mmap(NULL, PAGE, RW, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
}

static int children(volatile char *m)
{
	int bad = 0, status;

	for (int k = 0; k < FORKS; k++) {
		pid_t pid = fork();

		if (pid < 0)
			ct_die("fork");
		if (pid == 0)
			_exit(k < FORKS - 1 ? 0 : m[3 * PAGE + 9] != 3);
		waitpid(pid, &status, 0);
		bad += status != 0;
	}
	return bad;
}

int main(int argc, char **argv)
{
	char *role[] = { argv[0], NULL, "opener", NULL, NULL };
	volatile char *m;
	pthread_t t;
	pid_t pid;
	int fd;

	ct_begin(argc, argv);
	opener_role(argc, argv);
	fd = peer_file("f", PAGES * PAGE);
	m = ct_map(fd, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, 0);
	for (size_t k = 0; k < PAGES; k++)
		((volatile char *)m)[k * PAGE + 9] = (char)k;
	word = shared_page();
	sem_init(word, 1, 0);
	null_fd = open("/dev/null", O_WRONLY);
	pthread_atfork(prepare, NULL, NULL);
	role[1] = (char *)ct_dir;
	role[3] = (char *)ct_path("f");
	pid = peer_spawn(role, dup(null_fd), 60, true);
	pthread_create(&t, NULL, writer, (void *)m);
	say("X05 children that failed: %d", children(m));
	stop = 1;
	pthread_join(t, NULL);
	kill(pid, SIGKILL);
	waitpid(pid, NULL, 0);
	return 0;
}
