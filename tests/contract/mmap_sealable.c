/* SPDX-License-Identifier: MIT */
/* M98: files that are sealed while they are mapped, or were before. */
/* env: FASTMAP_PATHS=/ */
#include "ct.h"

#define LEN (16 * PAGE)

static int make(const char *name, unsigned flags)
{
	int fd = memfd_create(name, flags);

	if (fd < 0 || ftruncate(fd, LEN))
		ct_die("memfd");
	return fd;
}

static int reads(void *arg)
{
	const char *p = mmap(NULL, LEN, PROT_READ, MAP_SHARED, *(int *)arg, 0);

	say("a child's map: %c%c%c", p[0], p[5 * PAGE], p[15 * PAGE]);
	return 0;
}

/* Another process has the file: what a browser's renderer gets. */
static void reader(int fd, const char *what)
{
	say("M98 %s: %d", what, ct_child(reads, &fd));
}

static void seen(int fd, const char *what)
{
	char c[3] = "";

	for (int i = 0; i < 3; i++)
		if (pread(fd, c + i, 1, (off_t)(i * 5 * (int)PAGE)) != 1)
			ct_die("pread");
	say("M98 %s, pread: %02x %02x %02x", what, c[0], c[1], c[2]);
}

/* Over a mapping of a file, which has lived before. */
static char *place(void)
{
	char name[4096];
	char *p;
	int fd;

	snprintf(name, sizeof(name), "%s/file", ct_dir);
	fd = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, LEN))
		ct_die(name);
	p = mmap(NULL, LEN, RW, MAP_SHARED, fd, 0);
	p[PAGE] = 'f';
	close(fd);
	return p;
}

static void while_mapped(int flags)
{
	char *at = flags & MAP_FIXED ? place() : NULL;
	int fd = make("mapped", MFD_ALLOW_SEALING);
	char *p = mmap(at, LEN, RW, MAP_SHARED | flags, fd, 0);

	p[0] = 'a';
	say_rc("M98 mapped, no stores any more",
	       fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
	say_rc("M98 mapped, no new ones",
	       fcntl(fd, F_ADD_SEALS,
		     F_SEAL_FUTURE_WRITE | F_SEAL_SHRINK | F_SEAL_GROW));
	p[5 * PAGE] = 'b';
	p[15 * PAGE] = 'c';
	seen(fd, "mapped");
	say_rc("M98 mapped, pwrite", pwrite(fd, "x", 1, 0));
	say_rc("M98 mapped, ftruncate", ftruncate(fd, PAGE));
	say_map("M98 mapped, mapped again",
		mmap(NULL, LEN, RW, MAP_SHARED, fd, 0));
	say_rc("M98 mapped, msync", msync(p, LEN, MS_SYNC));
	reader(fd, "mapped");
	p[0] = 'd';
	say_rc("M98 mapped, munmap", munmap(p, LEN));
	reader(fd, "unmapped");
}

static void before(void)
{
	int fd = make("before", MFD_ALLOW_SEALING);
	char *p;

	if (pwrite(fd, "abc", 3, 0) != 3)
		ct_die("pwrite");
	say_rc("M98 before, sealed",
	       fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE | F_SEAL_SEAL));
	p = mmap(NULL, LEN, PROT_READ, MAP_SHARED, fd, 0);
	say("M98 before, %c%c%c", p[0], p[1], p[2]);
	say_rc("M98 before, mprotect", mprotect(p, LEN, RW));
	p = mmap(NULL, LEN, RW, MAP_PRIVATE, fd, 0);
	p[0] = 'x';
	seen(fd, "before");
}

static void never(void)
{
	int fd = make("never", 0);
	char *p = mmap(NULL, LEN, RW, MAP_SHARED, fd, 0);

	p[0] = 'a';
	p[5 * PAGE] = 'b';
	p[15 * PAGE] = 'c';
	say_rc("M98 never, sealed", fcntl(fd, F_ADD_SEALS, F_SEAL_WRITE));
	seen(fd, "never");
	reader(fd, "never");
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	while_mapped(0);
	while_mapped(MAP_FIXED);
	before();
	never();
	return 0;
}
