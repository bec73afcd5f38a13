/* SPDX-License-Identifier: MIT */
/* V01-V10: every advice the kernel knows, on three kinds of mapping. */
#include "ct.h"

#include <fcntl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

static int fd;

static const struct advice {
	int value;
	const char *name;
	bool destructive;
} all[] = {
	{ 0, "NORMAL", 0 }, { 1, "RANDOM", 0 }, { 2, "SEQUENTIAL", 0 },
	{ 3, "WILLNEED", 0 }, { 4, "DONTNEED", 1 }, { 8, "FREE", 1 },
	{ 9, "REMOVE", 1 }, { 10, "DONTFORK", 0 }, { 11, "DOFORK", 0 },
	{ 12, "MERGEABLE", 0 }, { 13, "UNMERGEABLE", 0 },
	{ 14, "HUGEPAGE", 0 }, { 15, "NOHUGEPAGE", 0 }, { 16, "DONTDUMP", 0 },
	{ 17, "DODUMP", 0 }, { 18, "WIPEONFORK", 0 }, { 19, "KEEPONFORK", 0 },
	{ 20, "COLD", 0 }, { 21, "PAGEOUT", 0 }, { 22, "POPULATE_READ", 0 },
	{ 23, "POPULATE_WRITE", 0 }, { 24, "DONTNEED_LOCKED", 1 },
	{ 25, "COLLAPSE", 0 },
};
#define NALL (sizeof(all) / sizeof(*all))

static void matrix_row(const struct advice *a, int prot, int flags,
		       const char *kind)
{
	char *p = ct_map(fd, 16 * PAGE, prot, flags, 0);
	char what[64];
	bool may = prot & PROT_WRITE;

	snprintf(what, sizeof(what), "V03 %s %s", a->name, kind);
	if (may)
		p[5 * PAGE] = 0x35;
	say_rc(what, madvise(p + 4 * PAGE, 4 * PAGE, a->value));
	say_load(what, p, 5 * PAGE);
	say_load(what, p, 6 * PAGE);
	say_load(what, p, 9 * PAGE);
	if (may)
		say_store(what, p, 6 * PAGE + 1);
	munmap(p, 16 * PAGE);
}

static void matrix(void)
{
	for (size_t i = 0; i < NALL; i++) {
		fd = ct_file("matrix", 16 * PAGE);
		matrix_row(&all[i], PROT_READ, MAP_SHARED, "shared ro");
		matrix_row(&all[i], RW, MAP_PRIVATE, "private");
		matrix_row(&all[i], RW, MAP_SHARED, "shared");
		say("V03 %s file: %02x %02x", all[i].name,
		    ct_in_file(fd, 5 * PAGE), ct_in_file(fd, 6 * PAGE));
		close(fd);
	}
}

static void arguments(void)
{
	char *p;

	fd = ct_file("args", 16 * PAGE);
	p = ct_map(fd, 16 * PAGE, RW, MAP_SHARED, 0);
	say_rc("V01 unaligned", madvise(p + 1, PAGE, MADV_WILLNEED));
	say_rc("V01 bogus", madvise(p, PAGE, 77));
	say_rc("V01 bogus, length 0", madvise(p, 0, 77));
	say_rc("V01 bogus, -1", madvise(p, PAGE, -1));
	say_rc("V01 length overflow", madvise(p, -PAGE, MADV_WILLNEED));
	say_rc("V01 length -1", madvise(p, -1ul, MADV_NORMAL));
	say_rc("V02 length 0", madvise(p, 0, MADV_DONTNEED));
	say_rc("V02 length 1", madvise(p, 1, MADV_WILLNEED));
	munmap(p + 5 * PAGE, PAGE);
	say_rc("V02 unmapped", madvise(p + 5 * PAGE, PAGE, MADV_WILLNEED));
	say_rc("V02 hole, willneed", madvise(p, 16 * PAGE, MADV_WILLNEED));
	say_rc("V02 hole, random", madvise(p, 16 * PAGE, MADV_RANDOM));
	say_rc("V02 hole, dontneed", madvise(p, 16 * PAGE, MADV_DONTNEED));
	say_rc("V02 hole, remove",
	       madvise(p + 4 * PAGE, 3 * PAGE, MADV_REMOVE));
	say("V02 removed on both sides: %02x %02x", ct_in_file(fd, 4 * PAGE),
	    ct_in_file(fd, 6 * PAGE));
	munmap(p, 16 * PAGE);
	close(fd);
}

static void remove_and_populate(void)
{
	char *p, *r;

	fd = ct_file("remove", 16 * PAGE);
	p = ct_map(fd, 32 * PAGE, RW, MAP_SHARED, 0);
	r = ct_map(fd, 32 * PAGE, PROT_READ, MAP_SHARED, 0);
	p[2 * PAGE] = 1;
	say_rc("V04 remove", madvise(p + PAGE, 3 * PAGE, MADV_REMOVE));
	say("V04 hole: %d, seen by the other map %d, in the file %02x",
	    ct_zero(p + PAGE, 3 * PAGE), ct_zero(r + PAGE, 3 * PAGE),
	    ct_in_file(fd, 2 * PAGE));
	say_rc("V04 remove, read-only",
	       madvise(r + 5 * PAGE, PAGE, MADV_REMOVE));
	say_rc("V06 populate write", madvise(p + 6 * PAGE, 2 * PAGE, 23));
	say("V06 content: %d", ct_matches(p + 6 * PAGE, 2 * PAGE, 6 * PAGE));
	say_rc("V06 populate write, read-only",
	       madvise(r + 6 * PAGE, PAGE, 23));
	say_rc("V06 populate read beyond the end",
	       madvise(p + 15 * PAGE, 2 * PAGE, 22));
	say_rc("V06 populate write beyond the end",
	       madvise(p + 16 * PAGE, PAGE, 23));
	mprotect(p + 8 * PAGE, PAGE, PROT_NONE);
	say_rc("V06 populate read, no access", madvise(p + 8 * PAGE, PAGE, 22));
	munmap(p, 32 * PAGE);
	munmap(r, 32 * PAGE);
	close(fd);
}

static void locked(void)
{
	char *p;

	fd = ct_file("locked", 16 * PAGE);
	p = ct_map(fd, 16 * PAGE, RW, MAP_SHARED, 0);
	p[2 * PAGE] = 0x71;
	if (mlock(p + 2 * PAGE, PAGE)) {
		say("V07 mlock: %s", strerrorname_np(errno));
		return;
	}
	say_rc("V07 dontneed, locked",
	       madvise(p + PAGE, 3 * PAGE, MADV_DONTNEED));
	say_rc("V07 remove, locked", madvise(p + PAGE, 3 * PAGE, MADV_REMOVE));
	say_rc("V07 pageout, locked",
	       madvise(p + 2 * PAGE, PAGE, MADV_PAGEOUT));
	say_rc("V07 cold, locked", madvise(p + 2 * PAGE, PAGE, MADV_COLD));
	say_rc("V07 dontneed_locked", madvise(p + PAGE, 3 * PAGE, 24));
	say("V07 content: %02x", p[2 * PAGE]);
	munlock(p + 2 * PAGE, PAGE);
	say_rc("V07 dontneed, unlocked",
	       madvise(p + PAGE, 3 * PAGE, MADV_DONTNEED));
	say("V08 store kept: %02x %02x", p[2 * PAGE], ct_in_file(fd, 2 * PAGE));
	munmap(p, 16 * PAGE);
	close(fd);
}

static void dontneed(void)
{
	char *p;
	int bad = 0;

	fd = ct_file("dontneed", 64 * PAGE);
	p = ct_map(fd, 64 * PAGE, RW, MAP_SHARED, 0);
	for (int i = 0; i < 64; i++)
		p[i * (int)PAGE + i] = (char)(i + 100);
	say_rc("V08 dontneed", madvise(p, 64 * PAGE, MADV_DONTNEED));
	for (int i = 0; i < 64; i++)
		bad += p[i * (int)PAGE + i] != (char)(i + 100);
	say("V08 dirty data lost: %d", bad);
	mprotect(p, PAGE, PROT_NONE);
	say_rc("V09 dontneed, no access", madvise(p, PAGE, MADV_DONTNEED));
	mprotect(p, PAGE, RW);
	say("V09 content: %02x", p[0]);
	p[PAGE] = 0x10;
	say("V10 posix_madvise dontneed: %d",
	    posix_madvise(p, 4 * PAGE, POSIX_MADV_DONTNEED));
	say("V10 content: %02x", p[PAGE]);
	say("V10 willneed: %d",
	    posix_madvise(p, 4 * PAGE, POSIX_MADV_WILLNEED));
	errno = 0;
	say("V10 bogus: %d, errno %d", posix_madvise(p, PAGE, 99), errno);
	munmap(p, 64 * PAGE);
	p = ct_map(fd, 64 * PAGE, RW, MAP_PRIVATE, 0);
	p[3 * PAGE] = 0x20;
	say("V10 private: %d",
	    posix_madvise(p, 64 * PAGE, POSIX_MADV_DONTNEED));
	say("V10 private copy kept: %02x", p[3 * PAGE]);
	munmap(p, 64 * PAGE);
}

static void dontfork_child(void)
{
	say("V03 DONTFORK child ran");
}

static char *kept;

static void touch_child(void)
{
	say_load("V03 DONTFORK in the child", kept, 0);
	say_load("V03 inherited in the child", kept, 4 * PAGE);
}

static void across_fork(void)
{
	fd = ct_file("fork", 16 * PAGE);
	kept = ct_map(fd, 16 * PAGE, RW, MAP_SHARED, 0);
	kept[0] = 1;
	kept[4 * PAGE] = 4;
	madvise(kept, 4 * PAGE, MADV_DONTFORK);
	say_child("V03 DONTFORK", dontfork_child);
	say_child("V03 DONTFORK", touch_child);
	madvise(kept, 4 * PAGE, MADV_DOFORK);
	say_child("V03 DOFORK", touch_child);
}

static char *map_at(char *at, size_t len, int flags)
{
	char *p = mmap(at, len, RW, flags | MAP_FIXED, fd, 0);

	if (p != at)
		ct_die("mmap");
	return p;
}

/* A range that begins and ends in memory that is none of the file's. */
static void mixed(void)
{
	const int anon = MAP_PRIVATE | MAP_ANONYMOUS;
	char *r = ct_map(-1, 16 * PAGE, RW, anon, 0), *p;

	fd = ct_file("mixed", 16 * PAGE);
	map_at(r + 4 * PAGE, 4 * PAGE, MAP_SHARED);
	p = map_at(r + 10 * PAGE, 4 * PAGE, MAP_PRIVATE);
	for (size_t i = 0; i < 16; i++)
		r[i * PAGE] = 'x';
	say("V11 DONTNEED: %d", madvise(r, 16 * PAGE, MADV_DONTNEED));
	for (size_t i = 0; i < 16; i++)
		say("V11 page %zu: %02x", i, r[i * PAGE]);
	mprotect(r + 9 * PAGE, PAGE, PROT_NONE);
	errno = 0;
	say("V11 POPULATE_READ with a part that may not be read: %d, errno %d",
	    madvise(r, 16 * PAGE, MADV_POPULATE_READ), errno);
	munmap(r + 9 * PAGE, PAGE);
	errno = 0;
	say("V11 POPULATE_WRITE with a hole: %d, errno %d",
	    madvise(r, 16 * PAGE, MADV_POPULATE_WRITE), errno);
	errno = 0;
	say("V11 SEQUENTIAL with a hole: %d, errno %d",
	    madvise(r, 16 * PAGE, MADV_SEQUENTIAL), errno);
	mprotect(p, 4 * PAGE, PROT_NONE);
	errno = 0;
	say("V11 POPULATE_READ of PROT_NONE: %d, errno %d",
	    madvise(p, 4 * PAGE, MADV_POPULATE_READ), errno);
	munmap(r, 16 * PAGE);
}

/* By a descriptor of this process, and by the names for it. */
static void by_pidfd(void)
{
	int own = (int)syscall(SYS_pidfd_open, getpid(), 0);
	int fds[] = { own, -10000, -10001, -1 };
	static const int advice[] = { MADV_DONTNEED, MADV_PAGEOUT };
	char *p;

	fd = ct_file("pidfd", 4 * PAGE);
	p = ct_map(fd, 4 * PAGE, RW, MAP_SHARED, 0);
	for (int i = 0; i < 8; i++) {
		struct iovec v = { p, 4 * PAGE };
		long r;

		p[PAGE] = (char)('a' + i);
		r = syscall(SYS_process_madvise, fds[i / 2], &v, 1L,
			    advice[i % 2], 0L);
		say("V15 process_madvise %d, %d: %ld %s, %c", i / 2, i % 2, r,
		    ct_errno(r < 0), p[PAGE]);
	}
	munmap(p, 4 * PAGE);
	close(own);
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	arguments();
	matrix();
	remove_and_populate();
	locked();
	dontneed();
	across_fork();
	mixed();
	by_pidfd();
	return 0;
}
