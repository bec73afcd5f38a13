/* SPDX-License-Identifier: MIT */
/* C51: a mapping that is much longer than its file, whose end goes to and fro
 * by ftruncate, while other threads write far behind it, look there and store:
 * in the end what lies in the file is what read(2) shows, what does not is
 * SIGBUS, and what comes back is zero. And memory does not grow with the length
 * of the mapping. */
#include "ct.h"

#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>

#define GIB (1ul << 30)
#define STEP (2ul << 20)  /* and some: nobody has looked so near before */
#define BASE (32ul << 20) /* the first so many bytes are touched often */
#define ROUNDS 10
#define EACH 128          /* pages far away, in a round */
#define FAR (BASE + (ROUNDS * EACH + 1) * (STEP + PAGE))

static int fd;
static char *map;
static _Atomic int stop;
static size_t far; /* where the first page far away of this round is */
static _Atomic int come; /* how many of them have been written to */
static long bad_size, bad_bus, bad_data, bad_old;

/* ---- threads ------------------------------------------------------------ */

struct guard {
	sigjmp_buf jump;
	volatile sig_atomic_t armed;
};
static _Thread_local struct guard mine;

static void on_bus(int sig)
{
	if (mine.armed)
		siglongjmp(mine.jump, sig);
	_exit(98);
}

/* A byte, loaded or stored, or -1 with SIGBUS. */
static int touch(size_t off, int store)
{
	volatile unsigned char *p = (unsigned char *)map + off;
	int r = -1;

	mine.armed = 1;
	if (!sigsetjmp(mine.jump, 1)) {
		if (store >= 0)
			*p = (unsigned char)store;
		r = *p;
	}
	mine.armed = 0;
	return r;
}

static size_t far_page(int k)
{
	return far + (size_t)k * (STEP + PAGE);
}

/* The file grows to a page, which is looked at, or stored to as well. */
static void *extender(void *arg)
{
	for (int k = 0, more = 4; k < EACH && more; k++, more -= stop) {
		ct_pwrite(fd, "written", 7, (off_t)far_page(k));
		touch(far_page(k) + 1, -1);
		if (k % 2)
			touch(far_page(k) + 2, 's');
		come = k + 1;
	}
	return arg;
}

/* In the part where the end of the file moves, and before it. */
static void *storer(void *arg CT_UNUSED)
{
	for (size_t k = 0; !stop; k++) {
		touch(k * 7 % 16 * PAGE + 8, (int)(k & 127));
		touch(BASE / 2 + k * 13 % 64 * PAGE, 'x');
	}
	return NULL;
}

static void *shrinker(void *arg)
{
	for (int k = 0; k < 2; k++) {
		while (come < (k + 1) * 4)
			sched_yield();
		if (ftruncate(fd, (off_t)(k ? 16 * PAGE : BASE)))
			ct_die("ftruncate");
	}
	stop = 1;
	return arg;
}

/* ---- quiet ------------------------------------------------------------- */

static off_t size_now(void)
{
	struct stat st;

	if (fstat(fd, &st))
		ct_die("fstat");
	return st.st_size;
}

/* Nobody else is here: the page shows what read(2) does, or is not there. */
static void look(size_t off)
{
	unsigned char b[16] = { 0 }, seen[16];
	off_t size = size_now();
	size_t end = ((size_t)size + PAGE - 1) & ~(PAGE - 1);
	int first = touch(off, -1);

	if (off >= end || first < 0) {
		bad_bus += (first < 0) != (off >= end);
		return;
	}
	if (pread(fd, b, sizeof(b), (off_t)off) < 0)
		ct_die("pread");
	memcpy(seen, map + off, sizeof(seen));
	bad_data += memcmp(b, seen, sizeof(b)) != 0;
}

static void look_at_all(void)
{
	look(0);
	look(BASE / 2 + 5 * PAGE);
	for (int k = 0; k < EACH; k++)
		look(far_page(k));
}

/* What was cut off does not come back: not by write-back, not as old bytes. */
static void quiet(void)
{
	off_t size = size_now();

	look_at_all();
	if (msync(map, FAR, MS_SYNC))
		ct_die("msync");
	bad_size += size_now() != size;
	look_at_all();
	if (ftruncate(fd, 16 * PAGE) || ftruncate(fd, (off_t)far_page(EACH)))
		ct_die("ftruncate");
	for (int k = 0; k < EACH; k++)
		bad_old += !ct_zero(map + far_page(k), PAGE);
	bad_old += !ct_zero(map + BASE / 2 + 5 * PAGE, PAGE);
	if (ftruncate(fd, BASE))
		ct_die("ftruncate");
	bad_bus += touch(far_page(1), -1) >= 0;
}

static void one_round(size_t where)
{
	void *(*const run[])(void *) = { extender, storer, shrinker };
	pthread_t t[3];

	far = where;
	stop = come = 0;
	for (int i = 0; i < 3; i++)
		if (pthread_create(&t[i], NULL, run[i], NULL))
			ct_die("pthread_create");
	for (int i = 0; i < 3; i++)
		pthread_join(t[i], NULL);
	quiet();
}

static void together(const char *name)
{
	fd = ct_file(name, 16 * PAGE);
	if (ftruncate(fd, BASE))
		ct_die("ftruncate");
	map = ct_map(fd, 2 * FAR, RW, MAP_SHARED, 0);
	for (size_t off = 0; off < BASE; off += STEP / 4)
		touch(off, -1);
	for (size_t k = 0; k < (size_t)ct_rounds(3, ROUNDS); k++)
		one_round(BASE + k * EACH * (STEP + PAGE));
	munmap(map, 2 * FAR);
	close(fd);
}

/* ---- memory ------------------------------------------------------------ */

static long resident_kib(void)
{
	FILE *f = fopen("/proc/self/statm", "r");
	long size, pages = -1;

	if (!f || fscanf(f, "%ld %ld", &size, &pages) != 2)
		ct_die("statm");
	fclose(f);
	return pages * 4;
}

static void to_and_fro(const char *what, size_t len)
{
	long before, grown;

	fd = ct_file(what, 64 * PAGE);
	map = mmap(NULL, len, RW, MAP_SHARED | MAP_NORESERVE, fd, 0);
	if (map == MAP_FAILED)
		ct_die("mmap");
	touch(0, 'x');
	touch(63 * PAGE, 'x');
	before = resident_kib();
	for (int k = 0; k < 20; k++)
		if (ftruncate(fd, (off_t)((64 + k % 3) * PAGE)))
			ct_die("ftruncate");
	grown = resident_kib() - before;
	say("C51 %s: resident memory grows: %s; %02x", what,
	    grown < 2048 ? "no" : "yes", touch(63 * PAGE, -1));
	munmap(map, len);
	close(fd);
}

int main(int argc, char **argv)
{
	struct sigaction sa = { .sa_handler = on_bus };

	ct_begin(argc, argv);
	sigaction(SIGBUS, &sa, NULL);
	together("far");
	together("far again");
	together("and again");
	say("C51 together: size %ld, SIGBUS %ld, data %ld, old bytes %ld wrong",
	    bad_size, bad_bus, bad_data, bad_old);
	to_and_fro("64 GiB", 64 * GIB);
	to_and_fro("1 GiB", GIB);
	return 0;
}
