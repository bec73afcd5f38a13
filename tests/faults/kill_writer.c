/* SPDX-License-Identifier: MIT */
/*
 * kill_writer.c - stores to a mapped file until something ends it.
 *
 *   kill_writer FILE JOURNAL -s MiB -t threads -e end -a after_ms [-r seed] [-m
 * mix]
 *
 * JOURNAL is a file on /dev/shm, which outlives us in memory: for each line of
 * FILE the last version whose store has completed. kill.py demands of the file
 * afterwards what the journal says. `end` is how we end: wait (until killed),
 * or abort, _exit, quick_exit, exit, return, segv, overflow (of the stack),
 * exec, exec_failed, fork (a child that lives on and stores, then the parent
 * exits), kill (ourselves), oom (memory without end, when standard input says).
 * `mix` adds: u munmap of windows, t truncation and growth of the tail, s
 * msync, w write(2), a second mapping, c changes between engine and kernel.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "../stress/ask.h"
#include "../stress/line.h"

#define PAGE 4096ul

static uint64_t size = 32ul << 20;
static unsigned nthreads = 4;
static const char *end = "wait";
static unsigned after_ms = 100;
static uint64_t seed = 1;
static const char *mix = "";
static int fd;
static char *map, *second;
static _Atomic uint32_t *journal;
static _Atomic bool stop;
static volatile int *volatile nowhere;

static void die(const char *what)
{
	fprintf(stderr, "kill_writer: %s: %s\n", what, strerror(errno));
	_exit(9);
}

static uint64_t rnd(uint64_t *state)
{
	*state ^= *state << 13;
	*state ^= *state >> 7;
	*state ^= *state << 17;
	return *state * 0x2545f4914f6cdd1dull >> 11;
}

static bool has(char c)
{
	return strchr(mix, c) != NULL;
}

static void store_at(char *base, uint64_t base_off, uint64_t idx)
{
	uint64_t off = idx * LINE_SIZE;
	uint32_t v =
		atomic_load_explicit(&journal[idx], memory_order_relaxed) + 1;

	line_store((struct line *)(base + (off - base_off)), off, v);
	atomic_store_explicit(&journal[idx], v, memory_order_release);
}

static void write_at(uint64_t idx)
{
	uint32_t v =
		atomic_load_explicit(&journal[idx], memory_order_relaxed) + 1;
	uint64_t off = idx * LINE_SIZE;
	struct slot s = slot_make(off, v);

	if (pwrite(fd, &s, sizeof(s), (off_t)(off + (v & 1) * sizeof(s))) !=
	    sizeof(s))
		die("pwrite");
	atomic_store_explicit(&journal[idx], v, memory_order_release);
}

/* A window that is unmapped with its stores in it. */
static void window(unsigned id, uint64_t *state)
{
	uint64_t pages = size / PAGE, first = rnd(state) % pages;
	uint64_t n = 1 + rnd(state) % 32;
	char *p;

	if (n > pages - first)
		n = pages - first;
	p = mmap(NULL, n * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		 (off_t)(first * PAGE));
	if (p == MAP_FAILED)
		die("mmap");
	for (uint64_t i = first * PAGE / LINE_SIZE + id;
	     i < (first + n) * PAGE / LINE_SIZE; i += nthreads * 4)
		store_at(p, first * PAGE, i / nthreads * nthreads + id);
	munmap(p, n * PAGE);
}

/* The file beyond `size` shrinks and grows; nobody stores there. */
static void resize(uint64_t *state)
{
	if (ftruncate(fd, (off_t)(size + rnd(state) % (1 << 20))))
		die("ftruncate");
}

static void *work(void *arg)
{
	unsigned id = (unsigned)(uintptr_t)arg;
	uint64_t state = line_mix(seed * 64 + id) | 1, lines = size / LINE_SIZE;

	while (!atomic_load_explicit(&stop, memory_order_relaxed)) {
		uint64_t r = rnd(&state);
		uint64_t idx = (r >> 10) % (lines / nthreads) * nthreads + id;

		if (has('u') && r % 1024 == 0)
			window(id, &state);
		else if (has('t') && r % 4096 == 1 && id == 0)
			resize(&state);
		else if (has('s') && r % 8192 == 2)
			msync(map + (idx * LINE_SIZE & ~(PAGE - 1)), PAGE,
			      r & 512 ? MS_SYNC : MS_ASYNC);
		else if (has('w') && r % 256 == 3)
			write_at(idx);
		else if (has('a') && r & 1)
			store_at(second, 0, idx);
		else
			store_at(map, 0, idx);
	}
	return NULL;
}

/* The file goes to the kernel and comes back. */
static void *change(void *arg)
{
	uint64_t state = line_mix(seed) | 1;

	for (bool back = false;; back = !back) {
		ask(back ? "promote\n" : "demote\n");
		usleep((useconds_t)(rnd(&state) % 5000));
	}
	return NULL;
}

/* A child stores, then parent and child end: the child later. */
static void end_by_fork(pthread_t *t)
{
	int status;
	pid_t pid;

	for (unsigned i = 0; i < nthreads; i++)
		pthread_join(t[i], NULL);
	pid = fork();
	if (pid < 0)
		die("fork");
	for (uint64_t i = pid ? 0 : 1; i < 2000; i += 2)
		store_at(map, 0, i);
	if (pid == 0)
		_exit(0);
	if (waitpid(pid, &status, 0) != pid || status)
		die("child");
	kill(getpid(), SIGKILL);
}

/* Without an end that a compiler would see. */
static __attribute__((noinline)) int overflow(const volatile char *before)
{
	volatile char here[4096];

	here[0] = before[0];
	return size ? overflow(here) + here[0] : 0;
}

/* More memory than the control group has. Not ours to use: the cache is
 * smaller than the limit. */
static void take_all_memory(void)
{
	char c;

	if (read(0, &c, 1) != 1)
		die("read");
	for (;;) {
		char *p = mmap(NULL, 8 << 20, PROT_READ | PROT_WRITE,
			       MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

		if (p == MAP_FAILED)
			die("mmap");
		memset(p, 1, 8 << 20);
	}
}

/* Threads stop first where the end would race with them natively as well:
 * the versions they are storing are then whole. */
static void finish(pthread_t *t)
{
	static char *argv[] = { "/bin/true", NULL };

	if (!strcmp(end, "wait"))
		for (;;)
			pause();
	if (!strcmp(end, "kill"))
		kill(getpid(), SIGKILL);
	else if (!strcmp(end, "abort"))
		abort();
	else if (!strcmp(end, "segv"))
		*nowhere = 1;
	else if (!strcmp(end, "overflow"))
		exit(overflow(end));
	else if (!strcmp(end, "oom"))
		take_all_memory();
	else if (!strcmp(end, "_exit"))
		_exit(0);
	else if (!strcmp(end, "quick_exit"))
		quick_exit(0);
	else if (!strcmp(end, "exec"))
		execv(argv[0], argv);
	else if (!strcmp(end, "exec_failed")) {
		execv("/nonexistent/program", argv);
		usleep(20000);
		kill(getpid(), SIGKILL);
	} else if (!strcmp(end, "main_exits")) {
		pthread_exit(NULL); /* the others go on until killed */
	} else if (!strcmp(end, "fork")) {
		atomic_store(&stop, true);
		end_by_fork(t);
	}
	exit(0); /* exit, with the threads still storing */
}

static void options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "s:t:e:a:r:m:")) != -1) {
		switch (c) {
		case 's':
			size = strtoull(optarg, NULL, 0) << 20;
			break;
		case 't':
			nthreads = (unsigned)atoi(optarg);
			break;
		case 'e':
			end = optarg;
			break;
		case 'a':
			after_ms = (unsigned)atoi(optarg);
			break;
		case 'r':
			seed = strtoull(optarg, NULL, 0);
			break;
		case 'm':
			mix = optarg;
			break;
		default:
			exit(2);
		}
	}
	if (optind != argc - 2)
		exit(2);
}

int main(int argc, char **argv)
{
	pthread_t t[65];
	int jfd;

	options(argc, argv);
	fd = open(argv[optind], O_RDWR | O_CREAT, 0644);
	jfd = open(argv[optind + 1], O_RDWR | O_CREAT, 0644);
	if (fd < 0 || jfd < 0 ||
	    ftruncate(jfd, (off_t)(size / LINE_SIZE * 4)) ||
	    (lseek(fd, 0, SEEK_END) < (off_t)size &&
	     ftruncate(fd, (off_t)size)))
		die("open");
	journal = mmap(NULL, size / LINE_SIZE * 4, PROT_READ | PROT_WRITE,
		       MAP_SHARED, jfd, 0);
	map = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	if (has('a'))
		second = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED,
			      fd, 0);
	if (journal == MAP_FAILED || map == MAP_FAILED || second == MAP_FAILED)
		die("mmap");
	for (unsigned i = 0; i < nthreads; i++)
		if (pthread_create(&t[i], NULL, work, (void *)(uintptr_t)i))
			die("pthread_create");
	if (has('c') && pthread_create(&t[nthreads], NULL, change, NULL))
		die("pthread_create");
	if (write(1, "storing\n", 8) != 8) /* kill.py starts its clock */
		die("write");
	usleep(after_ms * 1000);
	finish(t);
	return 0;
}
