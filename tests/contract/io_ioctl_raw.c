/* SPDX-License-Identifier: MIT */
/* C85r: FIEMAP into a mapping of the same file, with holes, by an instruction
 * of the program's own. It ends, and the file can be used. */
/* needs: thread */
/* timeout: 60 */
#include "ct.h"

#include <linux/fiemap.h>
#include <linux/fs.h>
#include <sys/syscall.h>

#define PAGES 512ul
#define LEN (2 * PAGES * PAGE)

int main(int argc, char **argv)
{
	struct fiemap *f;
	char b[PAGE], *p;
	long r;
	int fd;

	ct_begin(argc, argv);
	fd = open(ct_path("holes"), O_RDWR | O_CREAT | O_TRUNC, 0644);
	memset(b, 1, sizeof(b));
	for (size_t i = 0; i < PAGES; i++)
		ct_pwrite(fd, b, sizeof(b), (off_t)(2 * i * PAGE));
	if (ftruncate(fd, (off_t)LEN) || fsync(fd))
		ct_die("fsync");
	p = ct_map(fd, LEN, RW, MAP_SHARED, 0);
	f = (struct fiemap *)(void *)p;
	*f = (struct fiemap){ .fm_length = ~0ull, .fm_extent_count = 500 };
	r = ct_raw(SYS_ioctl, fd, FS_IOC_FIEMAP, (long)f, 0);
	say("C85r it ends: %d", r == 0 || r == -EFAULT);
	usleep(100000);
	p[3 * PAGE + 9] = 7;
	say("C85r load and store: %d %d", p[200 * PAGE], p[3 * PAGE + 9]);
	say_rc("C85r msync", msync(p, LEN, MS_SYNC));
	say("C85r in the file: %d",
	    pread(fd, b, 1, 3 * PAGE + 9) == 1 ? b[0] : -1);
	return 0;
}
