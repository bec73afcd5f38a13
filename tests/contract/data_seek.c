/* SPDX-License-Identifier: MIT */
/* What has been stored through a mapping is data: to SEEK_DATA and SEEK_HOLE,
 * and to FIEMAP. And a write that is not to append goes where it says. */
#include "ct.h"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/ioctl.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#define SIZE ((off_t)8 << 20)
#define AT ((off_t)5 << 20)
#ifndef RWF_NOAPPEND
#define RWF_NOAPPEND 0x20
#endif

static void seek(int fd)
{
	say("C82 data from 0 at %ld", (long)lseek(fd, 0, SEEK_DATA));
	say("C82 hole after it at %ld", (long)lseek(fd, AT, SEEK_HOLE));
	say("C82 then data: %s",
	    ct_errno(lseek(fd, AT + (1 << 20), SEEK_DATA) < 0));
	say("C82 negative: %s", ct_errno(lseek(fd, -1, SEEK_DATA) < 0));
}

static void extents(int fd)
{
	union {
		struct fiemap map;
		char room[sizeof(struct fiemap) + sizeof(struct fiemap_extent)];
	} f = { .map = { .fm_start = (uint64_t)AT, .fm_length = PAGE,
			 .fm_flags = FIEMAP_FLAG_SYNC, .fm_extent_count = 1 } };
	int r = ioctl(fd, FS_IOC_FIEMAP, &f.map);
	const struct fiemap_extent *e = f.map.fm_extents;

	say("C82 extent: %s, %d, written %d", ct_errno(r < 0),
	    (int)f.map.fm_mapped_extents,
	    f.map.fm_mapped_extents &&
		    !(e->fe_flags & FIEMAP_EXTENT_UNWRITTEN));
}

/* Linux 6.9. */
static void not_appended(int fd, const char *map)
{
	struct iovec v = { (char *)"here", 4 };
	ssize_t r;

	if (fcntl(fd, F_SETFL, O_APPEND))
		ct_die("O_APPEND");
	r = pwritev2(fd, &v, 1, AT + PAGE + 10, RWF_NOAPPEND);
	if (r < 0 && errno == EOPNOTSUPP) {
		say("C83 this kernel cannot");
		return;
	}
	say("C83 wrote %zd, seen %d", r,
	    !memcmp(map + AT + PAGE + 10, "here", 4));
}

int main(int argc, char **argv)
{
	char *map;
	int fd;

	ct_begin(argc, argv);
	fd = open(ct_path("f"), O_RDWR | O_CREAT | O_TRUNC, 0600);
	if (fd < 0 || ftruncate(fd, SIZE))
		ct_die("file");
	map = ct_map(fd, (size_t)SIZE, RW, MAP_SHARED, 0);
	map[AT] = 'x';
	seek(fd);
	extents(fd);
	map[3 * PAGE] = 'y';
	say("C82 by number %ld", syscall(SYS_lseek, fd, 0, SEEK_DATA));
	map[AT + PAGE] = 'z';
	not_appended(fd, map);
	say("C83 size kept %d", (int)(lseek(fd, 0, SEEK_END) == SIZE));
	return 0;
}
