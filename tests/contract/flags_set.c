/* SPDX-License-Identifier: MIT */
/* C107: a file that is made immutable or append-only while it is mapped. What
 * was stored before is kept, what is stored after it is the file system's to
 * take or refuse. */
#include "ct.h"

#include <linux/fs.h>
#include <sys/ioctl.h>

#define N (1024 * PAGE)

static int get(int fd, off_t off)
{
	unsigned char c = 0;

	return pread(fd, &c, 1, off) == 1 ? c : -1;
}

static void flagged(const char *what, int flag)
{
	int fd = ct_file("flagged", N), was = 0, with;
	char *m;

	ct_uncache(fd);
	m = ct_map(fd, N, RW, MAP_SHARED, 0);
	m[2 * PAGE] = 'd';
	if (ioctl(fd, FS_IOC_GETFLAGS, &was))
		ct_skip("no flags here");
	with = was | flag;
	if (ioctl(fd, FS_IOC_SETFLAGS, &with))
		ct_skip("flags cannot be set here");
	say("C107 %s: store to a clean page: %d, to another: %d", what,
	    ct_store(m, 'A'), ct_store(m + N / 2, 'B'));
	say_rc("C107 msync", msync(m, N, MS_SYNC));
	say_rc("C107 fsync", fsync(fd));
	say("C107 in the file: %02x %02x %02x", get(fd, 0),
	    get(fd, (off_t)N / 2), get(fd, 2 * PAGE));
	say_rc("C107 munmap", munmap(m, N));
	if (ioctl(fd, FS_IOC_SETFLAGS, &was))
		ct_die("flags");
	say("C107 afterwards: %02x", get(fd, 0));
	close(fd);
	unlink(ct_path("flagged"));
}

int main(int argc, char **argv)
{
	ct_begin(argc, argv);
	flagged("immutable", FS_IMMUTABLE_FL);
	flagged("append-only", FS_APPEND_FL);
	return 0;
}
