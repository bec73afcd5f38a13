/* SPDX-License-Identifier: MIT */
/*
 * servers.c - a file goes from the engine to the kernel and back, over and
 * over, while threads use it.
 *
 *   servers [-d SECONDS] [-t THREADS] [-p PAGES] [-b TIMES] [-c] [-f] [-w] FILE
 *
 * Each page belongs to a thread, which counts in it, by stores and by
 * pwrite(2), and finds what it left there, by loads, pread(2) and in what it
 * sends through a pipe; between, it advises it. Others look at it, and never
 * see the count go back. -f: children of fork look, too, -c: another process
 * opens the file, looks, and goes, -w: parts are mapped a second time, another
 * file takes their place, and protections change. The changes are asked for at
 * FASTMAP_SOCKET, by the whole path FILE; without it (natively) there are none.
 * -b: after SECONDS the threads alone go on until the file was promoted TIMES
 * times (promoting is refused while others have the file), at most a minute.
 * Exit status 0: all was right, and is in the file.
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
#include <sys/stat.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "ask.h"

#define PAGE 4096ul
#define MOST_THREADS 64
#define MOST_SECONDS_ALONE 60

static int seconds = 10, threads = 4;
static size_t pages = 4096;
static bool children, visitors, windows;
static uint64_t times; /* that the file is promoted, at least */
static const char *path;
static int fd;
static char *base;
static uint64_t *count;   /* of each page, by its owner */
static _Atomic uint64_t *seen; /* least that it has been, for others */
static atomic_bool alone, stop;
static _Atomic uint64_t wrong, done, to_kernel, to_engine, refused;

static void bad(const char *how, size_t page, uint64_t got, uint64_t want)
{
	if (atomic_fetch_add(&wrong, 1) < 20)
		printf("%s: page %zu has %lu, not %lu\n", how, page,
		       (unsigned long)got, (unsigned long)want);
}

static uint64_t next(uint64_t *s)
{
	*s ^= *s << 13;
	*s ^= *s >> 7;
	*s ^= *s << 17;
	return *s;
}

/* Where in its page the count is: all over it. */
static size_t place(size_t page)
{
	return page * PAGE + (page * 136 + 8) % (PAGE - 8) / 8 * 8;
}

static volatile uint64_t *slot(size_t page)
{
	return (volatile uint64_t *)(void *)(base + place(page));
}

/* ---- ways of looking and storing ---------------------------------------- */

static uint64_t by_pread(size_t page)
{
	uint64_t v = 0;

	if (pread(fd, &v, 8, (off_t)place(page)) != 8)
		bad("pread failed", page, (uint64_t)errno, 0);
	return v;
}

/* What a system call takes from the mapping. */
static uint64_t by_pipe(size_t page)
{
	uint64_t v = 0;
	int p[2];

	if (pipe(p))
		exit(99);
	if (write(p[1], base + place(page), 8) != 8 || read(p[0], &v, 8) != 8)
		bad("pipe failed", page, (uint64_t)errno, 0);
	close(p[0]);
	close(p[1]);
	return v;
}

/* And what it puts there. */
static void store_by_pipe(size_t page, uint64_t v)
{
	int p[2];

	if (pipe(p))
		exit(99);
	if (write(p[1], &v, 8) != 8 || read(p[0], base + place(page), 8) != 8)
		bad("read into it failed", page, (uint64_t)errno, 0);
	close(p[0]);
	close(p[1]);
}

static void store_by_pwrite(size_t page, uint64_t v)
{
	if (pwrite(fd, &v, 8, (off_t)place(page)) != 8)
		bad("pwrite failed", page, (uint64_t)errno, 0);
}

/* Whoever serves it, and whoever does when it returns: nothing is lost. */
static void say(size_t page, unsigned way)
{
	static const int what[] = { MADV_DONTNEED, MADV_WILLNEED, MADV_DOFORK,
				    MADV_NORMAL };
	char *at = base + page * PAGE;

	if (way % 5 == 4 ? msync(at, PAGE, MS_ASYNC) :
			   madvise(at, PAGE, what[way % 5]))
		bad("advice failed", page, (uint64_t)errno, 0);
}

static void own(size_t page, unsigned way)
{
	static const char *const how[] = { "load", "load", "pread", "pipe" };
	uint64_t got = way % 4 < 2  ? *slot(page) :
		       way % 4 == 2 ? by_pread(page) : by_pipe(page);
	uint64_t v = count[page] + 1;

	if (got != count[page])
		bad(how[way % 4], page, got, count[page]);
	if (way / 4 % 8 == 0)
		store_by_pwrite(page, v);
	else if (way / 4 % 8 == 1)
		store_by_pipe(page, v);
	else
		*slot(page) = v;
	count[page] = v;
	atomic_store(&seen[page], v);
}

static void others(size_t page)
{
	uint64_t least = atomic_load(&seen[page]), got = *slot(page);

	if (got < least)
		bad("another's load", page, got, least);
}

/* A second mapping of some pages, or another protection. */
static void window(size_t page, unsigned way)
{
	size_t at = page & ~15ul;
	uint64_t least = atomic_load(&seen[page]), got;
	char *m;

	if (at + 16 > pages)
		return;
	m = mmap(NULL, 16 * PAGE, PROT_READ | (way & 1 ? PROT_WRITE : 0),
		 MAP_SHARED, fd, (off_t)(at * PAGE));
	if (m == MAP_FAILED)
		exit(98);
	got = *(volatile uint64_t *)(void *)(m + place(page) - at * PAGE);
	if (got < least)
		bad("a window's load", page, got, least);
	munmap(m, 16 * PAGE);
	if (way % 16 == 0 && mprotect(base, pages * PAGE,
				      PROT_READ | PROT_WRITE))
		bad("mprotect", page, (uint64_t)errno, 0);
}

static void *worker(void *arg)
{
	size_t me = (size_t)arg, n = (size_t)threads;
	uint64_t s = me * 7919 + 1;

	while (!stop) {
		size_t page = next(&s) % (pages / n) * n + me;

		own(page, (unsigned)(next(&s) >> 8));
		others(next(&s) % pages);
		if (next(&s) % 4 == 0)
			say(page, (unsigned)(next(&s) >> 8));
		if (windows && !alone && next(&s) % 64 == 0)
			window(next(&s) % pages, (unsigned)next(&s));
		atomic_fetch_add(&done, 1);
	}
	return NULL;
}

/* ---- other processes ---------------------------------------------------- */

static void look_around(const char *how)
{
	uint64_t s = (uint64_t)getpid() * 31 + 1;

	for (int i = 0; i < 200; i++) {
		size_t page = next(&s) % pages;
		uint64_t least = atomic_load(&seen[page]), got = *slot(page);

		if (got < least) {
			printf("%s: page %zu has %lu, not %lu\n", how, page,
			       (unsigned long)got, (unsigned long)least);
			_exit(1);
		}
	}
	_exit(0);
}

static void wait_for(pid_t pid, const char *how)
{
	int status;

	if (pid < 0 || waitpid(pid, &status, 0) != pid || status)
		bad(how, 0, 1, 0);
}

static void child(void)
{
	pid_t pid = fork();

	if (!pid)
		look_around("child");
	wait_for(pid, "a child failed");
}

/* This program again: it maps the file by itself. */
static void visit(void)
{
	pid_t pid = vfork();

	if (!pid) {
		execl("/proc/self/exe", "servers", "-v", path, (char *)NULL);
		_exit(97);
	}
	wait_for(pid, "a visitor failed");
}

/* The last bytes of the file say how much there is to see: nothing here tells
 * it what was stored before it came. It only has to get along. */
static int visitor(void)
{
	struct stat st;
	volatile char *m;
	int sum = 0;

	fd = open(path, O_RDWR);
	if (fd < 0 || fstat(fd, &st))
		return 1;
	m = mmap(NULL, (size_t)st.st_size, PROT_READ | PROT_WRITE, MAP_SHARED,
		 fd, 0);
	if (m == MAP_FAILED)
		return 2;
	for (off_t i = 0; i < st.st_size; i += 16 * (off_t)PAGE)
		sum += m[i];
	return sum == INT32_MAX;
}

/* ---- changes ------------------------------------------------------------ */

/* Of this file alone. */
static bool ask_for(const char *what)
{
	char line[4200];

	snprintf(line, sizeof(line), "%s %s\n", what, path);
	return ask(line);
}

static void *changer(void *arg)
{
	for (uint64_t n = 0; !stop; n++) {
		if (n % 2 == 0 && ask_for("demote"))
			atomic_fetch_add(&to_kernel, 1);
		else if (n % 2 && ask_for("promote"))
			atomic_fetch_add(&to_engine, 1);
		else if (n % 2)
			atomic_fetch_add(&refused, 1);
		usleep((useconds_t)(n * 7919 % 20000));
	}
	return NULL;
}

/* ---- another file ------------------------------------------------------- */

#define PLACE (16 * PAGE)
#define LOOKS 200

static int other;

/* It stays the engine's. */
static void begin_other(void)
{
	char name[4096];

	snprintf(name, sizeof(name), "%s.other", path);
	other = open(name, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (other < 0 || unlink(name) || posix_fallocate(other, 0, PLACE))
		exit(7);
}

static void *promote(void *arg)
{
	ask_for("promote");
	return NULL;
}

static void *map_at(void *at, int f)
{
	void *p = mmap(at, PLACE, PROT_READ | PROT_WRITE,
		       MAP_SHARED | (at ? MAP_FIXED : 0), f, 0);

	if (p == MAP_FAILED)
		exit(8);
	return p;
}

/* A part of the file is mapped when it is asked back, and no more soon after:
 * the other file lies there, as the engine's, and stays. */
static void replace(unsigned n)
{
	volatile uint64_t *m;
	pthread_t t;

	ask_for("demote");
	m = map_at(NULL, fd);
	pthread_create(&t, NULL, promote, NULL);
	usleep(n * 397 % 3000);
	m = map_at((void *)m, other);
	for (uint64_t i = 0; i < LOOKS; i++) {
		const size_t at = i % 16 * PAGE / 8;

		m[at] = n + i;
		usleep(50);
		if (m[at] != n + i)
			bad("another file", i % 16, m[at], n + i);
	}
	pthread_join(t, NULL);
	munmap((void *)m, PLACE);
}

/* ---- all of it ---------------------------------------------------------- */

static void options(int argc, char **argv)
{
	int c;

	while ((c = getopt(argc, argv, "d:t:p:b:cfwv")) != -1) {
		if (c == 'd')
			seconds = atoi(optarg);
		else if (c == 't')
			threads = atoi(optarg);
		else if (c == 'p')
			pages = (size_t)atol(optarg);
		else if (c == 'b')
			times = (uint64_t)atol(optarg);
		else if (c == 'c')
			visitors = true;
		else if (c == 'f')
			children = true;
		else if (c == 'w')
			windows = true;
		else if (c == 'v' && optind < argc) {
			path = argv[optind];
			exit(visitor());
		}
	}
	if (optind >= argc || threads > MOST_THREADS)
		exit(2);
	path = argv[optind];
}

static void *shared(size_t len)
{
	void *p = mmap(NULL, len, PROT_READ | PROT_WRITE,
		       MAP_SHARED | MAP_ANONYMOUS, -1, 0);

	if (p == MAP_FAILED)
		exit(3);
	return p;
}

static void begin(void)
{
	fd = open(path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
	if (fd < 0 || posix_fallocate(fd, 0, (off_t)(pages * PAGE)))
		exit(4);
	base = mmap(NULL, pages * PAGE, PROT_READ | PROT_WRITE, MAP_SHARED, fd,
		    0);
	if (base == MAP_FAILED)
		exit(5);
	if (windows)
		begin_other();
	count = shared(pages * 8);
	seen = shared(pages * 8);
}

static void verify(void)
{
	int v;

	if (msync(base, pages * PAGE, MS_SYNC) || munmap(base, pages * PAGE))
		exit(6);
	v = open(path, O_RDONLY);
	for (size_t page = 0; page < pages; page++) {
		uint64_t got = 0;

		if (pread(v, &got, 8, (off_t)place(page)) != 8 ||
		    got != count[page])
			bad("in the file", page, got, count[page]);
	}
}

static void with_others(void)
{
	unsigned n = 0;

	for (time_t end = time(NULL) + seconds; time(NULL) < end;) {
		usleep(20000);
		if (windows)
			replace(n++);
		if (children)
			child();
		if (visitors)
			visit();
	}
}

/* Nobody else has the file: nothing may refuse to take it back. */
static void until_promoted(void)
{
	time_t end = time(NULL) + MOST_SECONDS_ALONE;

	alone = true;
	while (to_engine < times && time(NULL) < end)
		usleep(20000);
	if (to_engine < times)
		bad("times promoted", 0, to_engine, times);
}

int main(int argc, char **argv)
{
	pthread_t t[MOST_THREADS + 1];

	options(argc, argv);
	begin();
	for (size_t i = 0; i < (size_t)threads; i++)
		pthread_create(&t[i], NULL, worker, (void *)i);
	pthread_create(&t[threads], NULL, changer, NULL);
	with_others();
	until_promoted();
	stop = true;
	for (int i = 0; i <= threads; i++)
		pthread_join(t[i], NULL);
	verify();
	printf("done %lu, to the kernel %lu, to the engine %lu, refused %lu, "
	       "wrong %lu\n", (unsigned long)done, (unsigned long)to_kernel,
	       (unsigned long)to_engine, (unsigned long)refused,
	       (unsigned long)wrong);
	return wrong ? 1 : 0;
}
