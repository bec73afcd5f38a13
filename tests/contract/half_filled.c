/* SPDX-License-Identifier: MIT */
/* C85h: what a call fills begins in mapped memory and ends behind it, in memory
 * that may only be read. */
#include "ct.h"

#include <dirent.h>
#include <sys/epoll.h>
#include <sys/random.h>
#include <sys/statfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>

#define PAGES 16ul

static void filled(int fd, char *end)
{
	struct epoll_event e = { .events = EPOLLIN };
	int ep = epoll_create1(0), pipes[2], dir;

	say_rc("C85h fstat", fstat(fd, (void *)(end - 8)));
	say_rc("C85h stat", stat(ct_path("file"), (void *)(end - 8)));
	say_rc("C85h by number", syscall(SYS_fstat, fd, end - 8));
	say_rc("C85h newfstatat",
	       syscall(SYS_newfstatat, AT_FDCWD, "file", end - 8, 0));
	say_rc("C85h fstatfs", fstatfs(fd, (void *)(end - 8)));
	say_rc("C85h readlink", readlink("link", end - 2, 50));
	say_rc("C85h by number", syscall(SYS_readlink, "link", end - 2, 50));
	if (!fsetxattr(fd, "user.ct", "0123456789", 10, 0))
		say_rc("C85h fgetxattr",
		       fgetxattr(fd, "user.ct", end - 4, 100));
	if (pipe(pipes) || write(pipes[1], "x", 1) != 1 ||
	    epoll_ctl(ep, EPOLL_CTL_ADD, pipes[0], &e))
		ct_die("epoll");
	say_rc("C85h epoll_wait", epoll_wait(ep, (void *)(end - 4), 3, 0));
	say("C85h getrandom: %zd", getrandom(end - 20, 20, 0));
	dir = open(ct_dir, O_RDONLY | O_DIRECTORY);
	say("C85h first names: %d",
	    syscall(SYS_getdents64, dir, end - 2000, 1000) > 0);
	close(dir);
	close(ep);
}

int main(int argc, char **argv)
{
	int fd;
	char *p;

	ct_begin(argc, argv);
	fd = ct_file("file", PAGES * PAGE);
	if (symlink("somewhere", "link"))
		ct_die("symlink");
	p = ct_map(-1, (PAGES + 1) * PAGE, PROT_READ,
		   MAP_PRIVATE | MAP_ANONYMOUS, 0);
	if (mmap(p, PAGES * PAGE, RW, MAP_SHARED | MAP_FIXED, fd, 0) != p)
		ct_die("mmap");
	say("C85h before: %d", ct_matches(p, PAGES * PAGE, 0));
	filled(fd, p + PAGES * PAGE);
	return 0;
}
