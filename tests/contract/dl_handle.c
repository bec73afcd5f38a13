/* SPDX-License-Identifier: MIT */
/* X17: functions of libc that were found by a handle of libc, as foreign
 * function interfaces find them. */
/* all ours */
#include "ct.h"

#include <dlfcn.h>
#include <stdlib.h>
#include <sys/syscall.h>

#define N 512ul

static void *libc;

static void *find(const char *name)
{
	void *p = dlsym(libc, name);

	if (!p)
		ct_die(name);
	return p;
}

/* What the device has, without asking the page cache or anybody's mapping. */
static int on_disk(off_t off)
{
	static unsigned char buf[PAGE] __attribute__((aligned(4096)));
	long fd =
		ct_raw(SYS_open, (long)ct_path("f"), O_RDONLY | O_DIRECT, 0, 0);
	long n = ct_raw(SYS_pread64, fd, (long)buf, PAGE, off);

	ct_raw(SYS_close, fd, 0, 0, 0);
	return n == (long)PAGE ? buf[0] : -1;
}

static void sync_it(char *p)
{
	int (*sync)(void *, size_t, int) =
		(int (*)(void *, size_t, int))find("msync");

	p[3 * PAGE] = 0x31;
	say_rc("X17 msync", sync(p, N * PAGE, MS_SYNC));
	say("X17 on the disk: %02x", on_disk(3 * PAGE));
}

static void read_into(char *p, int fd)
{
	ssize_t (*get)(int, void *, size_t, off_t) =
		(ssize_t(*)(int, void *, size_t, off_t))find("pread");

	say("X17 pread into what nobody has touched: %zd",
	    get(fd, p + 100 * PAGE, 2 * PAGE, 0));
	say("X17 it came: %d", ct_matches(p + 100 * PAGE, PAGE, 0));
}

static void drop(int fd)
{
	int (*advise)(void *, size_t, int) =
		(int (*)(void *, size_t, int))find("madvise");
	char *p = ct_map(fd, 8 * PAGE, RW, MAP_PRIVATE, 0);

	p[PAGE] = ~p[PAGE];
	say_rc("X17 madvise", advise(p, 8 * PAGE, MADV_DONTNEED));
	say("X17 the file's again: %d", ct_matches(p + PAGE, PAGE, PAGE));
	munmap(p, 8 * PAGE);
}

/* What is at its place afterwards belongs to the program. */
static void unmap(char *p)
{
	int (*gone)(void *, size_t) = (int (*)(void *, size_t))find("munmap");
	unsigned char *a;
	size_t bad;
	int fd = ct_file("other", 4096 * PAGE);

	say_rc("X17 munmap", gone(p, N * PAGE));
	a = mmap(p, N * PAGE, RW,
		 MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED_NOREPLACE, -1, 0);
	say("X17 the place is free: %d", a == (void *)p);
	memset(p, 0x77, N * PAGE);
	p = ct_map(fd, 4096 * PAGE, PROT_READ, MAP_SHARED, 0);
	bad = ct_wrong(p, 0, 4096);
	for (size_t i = 0; i < N * PAGE; i++)
		bad += a[i] != 0x77;
	say("X17 lost: %zu", bad);
}

int main(int argc, char **argv)
{
	char *p;
	int fd, from;

	ct_begin(argc, argv);
	libc = dlopen("libc.so.6", RTLD_NOW);
	fd = ct_file("f", N * PAGE);
	from = ct_file("from", 4 * PAGE);
	p = ct_map(fd, N * PAGE, RW, MAP_SHARED, 0);
	for (size_t i = 0; i < N; i += 7)
		ct_load(p + i * PAGE);
	sync_it(p);
	read_into(p, from);
	drop(fd);
	unmap(p);
	say("X17 the default is what was linked: %d %d",
	    dlsym(RTLD_DEFAULT, "msync") == (void *)msync,
	    dlsym(dlopen(NULL, RTLD_NOW), "msync") == (void *)msync);
	say("X17 unknown: %d", dlsym(libc, "no such function") == NULL);
	say("X17 and why: %d", dlerror() != NULL);
	return 0;
}
