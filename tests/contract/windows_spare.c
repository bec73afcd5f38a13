/* SPDX-License-Identifier: MIT */
/* U11: what lies beside small windows is not the program's until it asks for
 * it, and is when it has. Memory that was laid down ahead for windows to come
 * must not show: not to loads and stores, not to calls, not as a second owner
 * of addresses that the program has taken. */
#include "ct.h"

#include <sys/syscall.h>

#define FILE_PAGES 64ul
#define BLOCK (16 * PAGE)

static int fd;

static size_t place(int n)
{
	return (size_t)n * 7 % FILE_PAGES * PAGE;
}

static char *window(int n, int prot)
{
	return ct_map(fd, PAGE, prot, MAP_SHARED, (off_t)place(n));
}

/* Where what the kernel lists around p ends. */
static char *end_of(const char *p)
{
	FILE *f = fopen("/proc/self/maps", "r");
	unsigned long from, to, end = 0;
	char line[4096];

	if (!f)
		ct_die("fopen");
	while (fgets(line, sizeof(line), f))
		if (sscanf(line, "%lx-%lx", &from, &to) == 2 &&
		    (uintptr_t)p >= from && (uintptr_t)p < to)
			end = to;
	fclose(f);
	return (char *)end;
}

/* A block that the program has never asked for: beside a new window if
 * something is there, else anywhere. */
static char *unasked(int prot)
{
	char *p, *end;

	for (int n = 0; n < 64; n++) {
		p = window(n, prot);
		end = end_of(p);
		munmap(p, PAGE);
		if (end >= p + PAGE + BLOCK)
			return p + PAGE;
	}
	p = mmap(NULL, BLOCK, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	munmap(p, BLOCK);
	return p;
}

static void *own(char *at, int extra)
{
	return mmap(at, BLOCK, RW, MAP_PRIVATE | MAP_ANONYMOUS | extra, -1, 0);
}

static void calls(int prot)
{
	unsigned char vec[16];
	char *p = unasked(prot);

	say_rc("U11 msync", msync(p, PAGE, MS_ASYNC));
	p = unasked(prot);
	say_rc("U11 mincore", mincore(p, BLOCK, vec));
	p = unasked(prot);
	say_rc("U11 madvise", madvise(p, PAGE, MADV_DONTNEED));
	p = unasked(prot);
	say_rc("U11 mprotect", mprotect(p, PAGE, PROT_READ));
	p = unasked(prot);
	say_rc("U11 mremap",
	       mremap(p, PAGE, 2 * PAGE, MREMAP_MAYMOVE) == MAP_FAILED ? -1
								       : 0);
	p = unasked(prot);
	say_rc("U11 read into it", pread(fd, p, 10, 0));
	p = unasked(prot);
	say_rc("U11 munmap", munmap(p, BLOCK));
	say_load("U11 after munmap", p, 0);
}

static void accesses(int prot)
{
	static char *kept[2000];
	char *p = unasked(prot);

	say_load("U11 unasked", p, 0);
	p = unasked(prot);
	say_store("U11 unasked", p, PAGE);
	p = unasked(prot);
	memset(own(p, MAP_FIXED), 'o', BLOCK);
	for (int n = 0; n < 2000; n++) {
		kept[n] = window(n, prot);
		if (!ct_matches(kept[n], PAGE, place(n)))
			say("U11 window %d is wrong", n);
		if (n % 2)
			munmap(kept[n], PAGE);
	}
	for (size_t i = 0; i < BLOCK; i++)
		if (p[i] != 'o') {
			say("U11 byte %zu of the program's own is gone", i);
			break;
		}
	munmap(p, BLOCK);
	for (int n = 0; n < 2000; n += 2)
		munmap(kept[n], PAGE);
}

/* In a child the addresses may be anybody's. */
static void in_child(char *p)
{
	char *mine = own(p, MAP_FIXED_NOREPLACE);

	if (mine != p)
		_exit(1);
	memset(mine, 'c', BLOCK);
	munmap(mine, PAGE);
	mprotect(mine + PAGE, PAGE, PROT_READ);
	for (size_t i = PAGE; i < BLOCK; i++)
		if (mine[i] != 'c')
			_exit(2);
	_exit(munmap(mine, BLOCK) ? 3 : 0);
}

static void say_ended(const char *what, long pid)
{
	if (pid < 0)
		ct_die(what);
	say("U11 %s: %d", what, ct_ended((pid_t)pid));
}

/* A fork gives the file to the kernel: last. */
static void children(int prot)
{
	char *p = unasked(prot);
	long pid = ct_raw(SYS_clone, SIGCHLD, 0, 0, 0);

	if (!pid)
		in_child(p);
	say_ended("raw clone", pid);
	p = unasked(prot);
	pid = fork();
	if (!pid)
		in_child(p);
	say_ended("fork", pid);
	/* And here it is as it was. */
	p = window(5, prot);
	say("U11 window after children: %d", ct_matches(p, PAGE, place(5)));
	munmap(p, PAGE);
}

int main(int argc, char **argv)
{
	static const int prots[] = { PROT_READ, RW };

	ct_begin(argc, argv);
	for (int k = 0; k < 2; k++) {
		fd = ct_file(k ? "g" : "f", FILE_PAGES * PAGE);
		ct_map(fd, PAGE, RW, MAP_SHARED, 0); /* in use throughout */
		calls(prots[k]);
		accesses(prots[k]);
		children(prots[k]);
	}
	return 0;
}
