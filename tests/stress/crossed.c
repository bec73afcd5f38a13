/* SPDX-License-Identifier: MIT */
/*
 * crossed.c - processes that want each other's files, all the time.
 *
 *   crossed [-d SECONDS] [-k PROCESSES] [-t THREADS] [-r SEED] DIR
 *
 * Each process is this program executed again, so each has an engine of its
 * own. Its threads map one of a few files, store, look, sometimes fork, and
 * unmap; meanwhile threads of the others do so with the same files. So a
 * process hands over what is dirty while another one waits for it, and has
 * dirty pages of a file that the first one waits for. What several processes
 * have used stays the kernel's for a while, so new files take their place soon.
 *
 * Each thread of each process has a slot in each page, and counts there. It
 * always finds what it left; others' counts never go back. Exit status 0: all
 * was right, and is in the files.
 */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define PAGE 4096ul
#define TOGETHER 3 /* files that are in use at one time */
#define A_TURN 8   /* visits to a file, about; then others are used */
#define TURNS 256
#define FILES (TOGETHER * TURNS)
#define PAGES 48ul
#define MOST 16 /* slots: processes times threads */
#define HELD 101 /* the descriptor of what all processes know */

/* What was stored last, in a page of a file, by whom. */
struct known {
	_Atomic uint64_t v[FILES][PAGES][MOST];
	_Atomic uint64_t done;
};

static int seconds = 5, processes = 3, threads = 3;
static unsigned seed = 1;
static const char *dir;
static struct known *known;
static _Atomic int wrong;

/* Whose files are in use now, of TURNS. */
static int turn(void)
{
	return (int)(known->done / (TOGETHER * A_TURN));
}

static uint64_t next(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

static void bad(const char *how, int file, size_t page, uint64_t got,
		uint64_t want)
{
	if (atomic_fetch_add(&wrong, 1) < 10)
		printf("%s: file %d page %zu has %lu, not %lu\n", how, file,
		       page, (unsigned long)got, (unsigned long)want);
}

static int open_file(int file)
{
	char name[4096];
	int fd;

	snprintf(name, sizeof(name), "%s/crossed.%d", dir, file);
	fd = open(name, O_RDWR | O_CLOEXEC | O_CREAT, 0600);
	if (fd < 0 || ftruncate(fd, PAGES * PAGE))
		exit(3);
	return fd;
}

static size_t place(size_t page, int who)
{
	return page * PAGE + (size_t)who * (PAGE / MOST) + page % 16 * 8;
}

static volatile uint64_t *slot(char *m, size_t page, int who)
{
	return (volatile uint64_t *)(void *)(m + place(page, who));
}

/* ---- one visit ---------------------------------------------------------- */

static void count(char *m, int file, size_t page, int who)
{
	_Atomic uint64_t *k = &known->v[file][page][who];
	uint64_t got = *slot(m, page, who), want = atomic_load(k);

	if (got != want)
		bad("own", file, page, got, want);
	*slot(m, page, who) = want + 1;
	atomic_store(k, want + 1);
}

static int look(char *m, int file, size_t page, int who)
{
	uint64_t least = atomic_load(&known->v[file][page][who]);
	uint64_t got = *slot(m, page, who);

	if (got < least)
		bad("another's", file, page, got, least);
	return got < least;
}

static void child_looks(char *m, int file, uint64_t s)
{
	int status = 0, n = 0;
	pid_t pid = fork();

	if (!pid) {
		for (int i = 0; i < 16; i++)
			n += look(m, file, next(&s) % PAGES,
				  (int)(next(&s) % MOST));
		fflush(stdout);
		_exit(n != 0);
	}
	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		bad("child", file, 0, (uint64_t)status, 0);
}

/* One that only reads: another engine may have the file at the same time. */
static void visit_reading(int file, uint64_t *s)
{
	int fd = open_file(file);
	char *m = mmap(NULL, PAGES * PAGE, PROT_READ, MAP_SHARED, fd, 0);

	close(fd);
	if (m == MAP_FAILED)
		exit(4);
	for (int i = 0; i < 16; i++)
		look(m, file, next(s) % PAGES, (int)(next(s) % MOST));
	munmap(m, PAGES * PAGE);
}

static void visit(int file, int who, uint64_t *s)
{
	int fd = open_file(file);
	char *m = mmap(NULL, PAGES * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED,
		       fd, 0);
	const unsigned way = (unsigned)next(s);

	if (m == MAP_FAILED)
		exit(4);
	if (way % 2)
		close(fd);
	for (int i = 0; i < 16; i++) {
		count(m, file, next(s) % PAGES, who);
		look(m, file, next(s) % PAGES, (int)(next(s) % MOST));
	}
	if (way / 2 % 16 == 0)
		child_looks(m, file, *s);
	if (way / 32 % 8 == 0)
		usleep((useconds_t)(next(s) % 20000));
	if (way / 256 % 8 == 0 && msync(m, PAGES * PAGE, MS_SYNC))
		bad("msync", file, 0, (uint64_t)errno, 0);
	munmap(m, PAGES * PAGE);
	if (way % 2 == 0)
		close(fd);
}

static void *worker(void *arg)
{
	const int who = (int)(intptr_t)arg;
	uint64_t s = (uint64_t)who * 7919 + seed;
	const time_t end = time(NULL) + seconds;

	for (int now;
	     now = turn(), now < TURNS && time(NULL) < end && !wrong;) {
		int file = now * TOGETHER + (int)(next(&s) % TOGETHER);

		if (next(&s) % 4)
			visit(file, who, &s);
		else
			visit_reading(file, &s);
		atomic_fetch_add(&known->done, 1);
	}
	return NULL;
}

/* ---- the processes ------------------------------------------------------ */

static int be_process(int process)
{
	pthread_t t[MOST];

	for (int i = 0; i < threads; i++)
		pthread_create(&t[i], NULL, worker,
			       (void *)(intptr_t)(process * threads + i));
	for (int i = 0; i < threads; i++)
		pthread_join(t[i], NULL);
	return wrong != 0;
}

static pid_t start(char **argv, int process)
{
	char number[16];
	pid_t pid;

	snprintf(number, sizeof(number), "%d", process);
	setenv("CROSSED_PROCESS", number, 1);
	pid = fork();
	if (pid == 0) {
		execv("/proc/self/exe", argv);
		_exit(97);
	}
	return pid;
}

static void know(bool make)
{
	int fd = make ? memfd_create("crossed", 0) : HELD;

	if (make && (ftruncate(fd, sizeof(*known)) || dup2(fd, HELD) < 0))
		exit(5);
	known = mmap(NULL, sizeof(*known), PROT_READ | PROT_WRITE, MAP_SHARED,
		     fd, 0);
	if (known == MAP_FAILED)
		exit(6);
}

static void verify(int file)
{
	int fd = open_file(file);
	char name[4096];
	uint64_t got;

	for (size_t page = 0; page < PAGES; page++)
		for (int who = 0; who < processes * threads; who++) {
			if (pread(fd, &got, 8, (off_t)place(page, who)) != 8 ||
			    got != known->v[file][page][who])
				bad("in the file", file, page, got,
				    known->v[file][page][who]);
		}
	close(fd);
	snprintf(name, sizeof(name), "%s/crossed.%d", dir, file);
	unlink(name);
}

static int be_all(char **argv)
{
	pid_t pid[MOST];
	int status;

	know(true);
	for (int i = 0; i < processes; i++)
		pid[i] = start(argv, i);
	for (int i = 0; i < processes; i++)
		if (waitpid(pid[i], &status, 0) != pid[i] || status)
			bad("a process", -1, 0, (uint64_t)status, 0);
	for (int i = 0; i < TURNS * TOGETHER && known->done; i++)
		verify(i);
	printf("crossed: %lu visits, %d wrong\n", (unsigned long)known->done,
	       wrong);
	return wrong || !known->done;
}

int main(int argc, char **argv)
{
	const char *process = getenv("CROSSED_PROCESS");
	int c;

	while ((c = getopt(argc, argv, "d:k:t:r:")) != -1) {
		if (c == 'd')
			seconds = atoi(optarg);
		else if (c == 'k')
			processes = atoi(optarg);
		else if (c == 't')
			threads = atoi(optarg);
		else if (c == 'r')
			seed = (unsigned)atoi(optarg);
	}
	if (optind >= argc || processes < 1 || threads < 1 ||
	    processes * threads > MOST)
		return 2;
	dir = argv[optind];
	setvbuf(stdout, NULL, _IOLBF, 0);
	if (!process)
		return be_all(argv);
	know(false);
	return be_process(atoi(process));
}
