/* SPDX-License-Identifier: MIT */
/* Many short threads, each faulting under a storm of signals whose handlers
 * fault as well, most of it with everything blocked. */
/* timeout: 240 */
#include "ct.h"

#include <pthread.h>
#include <sys/syscall.h>

#define ROUNDS ct_rounds(15, 60)
#define THREADS 16
#define TOUCHES ct_rounds(16, 50)
#define PAGES 4096

static char *map;
static _Atomic unsigned bad, handled, faults;
static _Atomic bool stop;
static _Atomic unsigned seed;

static void touch(unsigned n)
{
	size_t off = (size_t)(n * 2654435761u % PAGES) * PAGE;

	if (!ct_matches(map + off, 64, off))
		bad++;
	faults++;
}

static void on_usr1(int sig)
{
	int saved = errno;

	errno = 12345;
	touch(seed++);
	handled++;
	if (errno != 12345)
		bad++;
	errno = saved;
}

static void *short_thread(void *arg)
{
	size_t n = (size_t)arg;
	sigset_t all, old;

	errno = 77;
	if (n % 2) {
		sigfillset(&all);
		pthread_sigmask(SIG_SETMASK, &all, &old);
	}
	for (int i = 0; i < TOUCHES; i++)
		touch(seed++);
	if (n % 4 == 3)
		pthread_exit(NULL);
	if (errno != 77)
		bad++;
	return NULL;
}

static void *storm(void *unused)
{
	while (!stop) {
		kill(getpid(), SIGUSR1);
		usleep(50);
	}
	return NULL;
}

static unsigned count_lines(const char *path)
{
	FILE *f = fopen(path, "r");
	unsigned n = 0;
	int c;

	while ((c = getc(f)) != EOF)
		n += c == '\n';
	fclose(f);
	return n;
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_usr1, .sa_flags = SA_RESTART };
	unsigned before = 0, after;
	pthread_t t[THREADS], storming;
	int fd;

	ct_begin(argc, argv);
	fd = ct_file("threads", PAGES * PAGE);
	map = ct_map(fd, PAGES * PAGE, PROT_READ, MAP_SHARED, 0);
	sigfillset(&sa.sa_mask);
	sigaction(SIGUSR1, &sa, NULL);
	pthread_create(&storming, NULL, storm, NULL);
	for (int r = 0; r < ROUNDS; r++) {
		for (size_t i = 0; i < THREADS; i++)
			if (pthread_create(&t[i], NULL, short_thread,
					   (void *)i))
				ct_die("pthread_create");
		for (size_t i = 0; i < THREADS; i++)
			pthread_join(t[i], NULL);
		if (r == ROUNDS / 3)
			before = count_lines("/proc/self/maps");
		madvise(map, PAGES * PAGE, MADV_DONTNEED);
	}
	after = count_lines("/proc/self/maps");
	stop = true;
	pthread_join(storming, NULL);
	say("G9 wrong %u, handled some %d, faults %d", bad, handled > 0,
	    (int)faults > ROUNDS * THREADS * TOUCHES);
	say("G9 threads leave nothing behind: %d", after < before + 250);
	return 0;
}
