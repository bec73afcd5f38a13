/* SPDX-License-Identifier: MIT */
/* C85: the file system fills memory that is a mapping of the same file, under
 * locks that a load, a store to a hole or write-back of that file needs. Every
 * second page of the file is a hole, and nothing is resident. */
#include "ct.h"

#include <dirent.h>
#include <linux/fiemap.h>
#include <linux/fs.h>
#include <linux/fsmap.h>
#include <sys/ioctl.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#define PAGES 512ul
#define LEN (2 * PAGES * PAGE)

static int holed(const char *name)
{
	char b[PAGE];
	int fd = open(ct_path(name), O_RDWR | O_CREAT | O_TRUNC, 0644);

	if (fd < 0)
		ct_die("open");
	memset(b, 1, sizeof(b));
	for (size_t i = 0; i < PAGES; i++)
		ct_pwrite(fd, b, sizeof(b), (off_t)(2 * i * PAGE));
	if (ftruncate(fd, (off_t)LEN) || fsync(fd))
		ct_die("fsync");
	return fd;
}

/* `at`: bytes from the start of the mapping. */
static void extents(const char *what, int fd, char *p, size_t at, unsigned room,
		    bool by_number)
{
	struct fiemap f = { .fm_length = ~0ull, .fm_extent_count = room }, *in =
		(struct fiemap *)(void *)(p + at);
	int r;

	memcpy(in, &f, sizeof(f));
	r = by_number ? (int)syscall(SYS_ioctl, fd, FS_IOC_FIEMAP, in) :
			ioctl(fd, FS_IOC_FIEMAP, in);
	say("C85 FIEMAP, %s: %s", what, ct_errno(r < 0));
	if (!r && (room == 0 || room > in->fm_mapped_extents))
		say("C85 extents at least %d, asked for %u",
		    in->fm_mapped_extents >= PAGES, in->fm_extent_count);
	else if (!r)
		say("C85 extents %u, asked for %u, in order %d",
		    in->fm_mapped_extents, in->fm_extent_count,
		    in->fm_extents[room - 1].fe_logical >
			    in->fm_extents[room - 2].fe_logical);
}

static void fiemaps(int fd, int other)
{
	char *p = ct_map(fd, LEN, RW, MAP_SHARED, 0);
	char *own = ct_map(fd, LEN, RW, MAP_PRIVATE, 0);
	char *gap = ct_map(-1, LEN + 64 * PAGE, PROT_NONE,
			   MAP_PRIVATE | MAP_ANONYMOUS, 0);
	char *q = mmap(gap, LEN, RW, MAP_SHARED | MAP_FIXED, other, 0), *ro;

	extents("its own mapping", fd, p, 40 * PAGE, 100, false);
	extents("by number", fd, p, 100 * PAGE + 8, 200, true);
	extents("only counted", fd, p, 200 * PAGE, 0, false);
	extents("from the end of a page", fd, p, 301 * PAGE - 40, 300, false);
	extents("more than there are", fd, p, 400 * PAGE, 9000, false);
	extents("its private mapping", fd, own, 40 * PAGE, 100, false);
	extents("another file's", fd, q, 40 * PAGE, 100, false);
	extents("to the end of it", fd, q, LEN - 56 * 10 - 32, 10, false);
	extents("beyond the end of it", fd, q, LEN - 56 * 10 - 32, 400, false);
	ro = ct_map(fd, LEN, PROT_READ, MAP_SHARED, 0);
	say_rc("C85 FIEMAP, read-only",
	       ioctl(fd, FS_IOC_FIEMAP, ro + 20 * PAGE));
	say("C85 the rest: %d %d %d", p[2 * PAGE], q[2 * PAGE], own[2 * PAGE]);
	munmap(p, LEN);
	munmap(own, LEN);
	munmap(gap, LEN + 64 * PAGE);
	munmap(ro, LEN);
}

static void others(int fd)
{
	char *p = ct_map(fd, LEN, RW, MAP_SHARED, 0);
	struct fsmap_head *h = (void *)(p + 61 * PAGE - 24);
	struct fsxattr *x = (void *)(p + 71 * PAGE - 8);
	int n = -1, *at = (int *)(void *)(p + 51 * PAGE);
	int r;

	say_rc("C85 FIGETBSZ", ioctl(fd, FIGETBSZ, at));
	say("C85 block %d", *at);
	at += PAGE / 2;
	say("C85 flags: %d", ioctl(fd, FS_IOC_GETFLAGS, at) == 0 &&
				     ioctl(fd, FS_IOC_GETFLAGS, &n) == 0 &&
				     n == *at);
	r = ioctl(fd, FS_IOC_FSGETXATTR, x);
	say("C85 FSGETXATTR: %s, %d", ct_errno(r < 0),
	    r < 0 ? 0 : (int)x->fsx_extsize);
	memset(h, 0, sizeof(*h));
	memset(&h->fmh_keys[1], 0xff, sizeof(h->fmh_keys[1]));
	h->fmh_count = 300;
	r = ioctl(fd, FS_IOC_GETFSMAP, h);
	say("C85 GETFSMAP: %s, some %d", ct_errno(r < 0),
	    r < 0 || h->fmh_entries > 0);
	say_rc("C85 what nobody knows",
	       ioctl(fd, _IOWR('f', 0x7a, char[99]), p + 81 * PAGE - 9));
	say("C85 the rest: %d %d", p[80 * PAGE], p[81 * PAGE]);
	munmap(p, LEN);
}

/* Names and attributes of what it lies in, also by number. */
static void names(int fd)
{
	char *p = ct_map(fd, LEN, RW, MAP_SHARED, 0);
	int dir = open(ct_dir, O_RDONLY | O_DIRECTORY);
	struct statx *x = (void *)(p + 11 * PAGE - 100);
	struct stat *st = (void *)(p + 13 * PAGE - 100), mine;

	for (int i = 0; i < 50; i++) {
		char name[40];

		snprintf(name, sizeof(name), "%s-%032d", "n", i);
		close(open(ct_path(name), O_CREAT | O_WRONLY, 0644));
	}
	say("C85 getdents64: some %d",
	    getdents64(dir, p + 21 * PAGE - 80, 2000) > 100);
	lseek(dir, 0, SEEK_SET);
	say("C85 by number: some %d",
	    syscall(SYS_getdents64, dir, p + 31 * PAGE - 80, 2000) > 100);
	say("C85 statx: %s", ct_errno(syscall(SYS_statx, fd, "", AT_EMPTY_PATH,
					      STATX_ALL, x) < 0));
	say("C85 same file: %d",
	    !fstat(fd, &mine) && mine.st_ino == x->stx_ino);
	say_rc("C85 fstat", syscall(SYS_fstat, fd, st));
	say("C85 same file: %d", mine.st_ino == st->st_ino);
	memcpy(p + 41 * PAGE - 4, "an attribute", 12);
	if (syscall(SYS_fsetxattr, fd, "user.ct", p + 41 * PAGE - 4, 12, 0) ==
	    0)
		say("C85 attribute: %ld %.12s",
		    syscall(SYS_fgetxattr, fd, "user.ct", p + 51 * PAGE - 4,
			    12),
		    p + 51 * PAGE - 4);
	close(dir);
	munmap(p, LEN);
}

/* The file's bytes into and from its own mapping, direct too. */
static void data(const char *name, int fd)
{
	char *p = ct_map(fd, LEN, RW, MAP_SHARED, 0);
	int direct = open(ct_path(name), O_RDWR | O_DIRECT);
	off_t from = 0, to = (off_t)(200 * PAGE);

	say("C85 read: %zd", pread(fd, p + 300 * PAGE, 64 * PAGE, 0));
	say("C85 write: %zd",
	    pwrite(fd, p + 300 * PAGE, 64 * PAGE, (off_t)(310 * PAGE)));
	say("C85 copied: %zd",
	    copy_file_range(fd, &from, fd, &to, 64 * PAGE, 0));
	if (direct >= 0) {
		say("C85 direct read: %zd",
		    pread(direct, p + 500 * PAGE, 64 * PAGE, 0));
		say("C85 direct write: %zd",
		    pwrite(direct, p + 500 * PAGE, 64 * PAGE,
			   (off_t)(600 * PAGE)));
		close(direct);
	}
	say("C85 there: %d %d %d %d", p[300 * PAGE], p[310 * PAGE],
	    p[200 * PAGE], p[301 * PAGE]);
	munmap(p, LEN);
}

int main(int argc, char **argv)
{
	int fd, other;

	ct_begin(argc, argv);
	fd = holed("file");
	other = holed("other");
	fiemaps(fd, other);
	data("file", fd);
	names(other);
	others(fd);
	return 0;
}
