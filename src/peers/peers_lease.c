/* SPDX-License-Identifier: MIT */
/*
 * peers_lease.c - is the file open for writing anywhere? A read lease says so.
 *
 * The kernel grants a read lease only on a file that nobody, whoever's process
 * it is, has open or mapped through a descriptor for writing; it is given back
 * at once. That is a matter of microseconds where the look into /proc takes
 * milliseconds, which a program that maps thousands of files would pay for
 * each. Whoever opens the file for writing in between waits for the few
 * instructions (with O_NONBLOCK: is refused), and the signal that the kernel
 * sends to the holder goes to a thread of ours that blocks it.
 */
#include "base/sys.h"
#include "peers_priv.h"

#ifndef F_SETLEASE
#define F_SETLEASE 1024 /* ABI: fcntl */
#define F_GETLEASE 1025 /* ABI: fcntl */
#endif
#ifndef F_SETOWN_EX
#define F_SETOWN_EX 15 /* ABI: fcntl */
#define F_GETOWN_EX 16 /* ABI: fcntl */
#endif

struct owner {
	int type, pid;
};

static long control(int fd, int what, uintptr_t arg)
{
	return fm_sys3(SYS_fcntl, fd, what, arg);
}

/* The program's descriptor is as it was when this returns. False: cannot be
 * said (not our file, a lease by the program, a file system without them). */
bool fm_peers_no_writer(int fd)
{
	struct owner ours = { 0 /* F_OWNER_TID */, fm_watch_tid() }, old;
	bool alone;

	if (fd < 0 || !ours.pid ||
	    (control(fd, F_GETFL, 0) & O_ACCMODE) != O_RDONLY ||
	    control(fd, F_GETLEASE, 0) != F_UNLCK ||
	    control(fd, F_GETOWN_EX, (uintptr_t)&old) || old.pid ||
	    control(fd, F_SETOWN_EX, (uintptr_t)&ours))
		return false;
	alone = !control(fd, F_SETLEASE, F_RDLCK);
	if (alone)
		control(fd, F_SETLEASE, F_UNLCK);
	control(fd, F_SETOWN_EX, (uintptr_t)&old);
	return alone;
}
