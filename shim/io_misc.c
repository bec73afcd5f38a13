/* SPDX-License-Identifier: MIT */
/* io_misc.c - getcwd, fcntl, and record locks. */
#include "call_copy.h"

#include <fcntl.h>
#include <string.h>
#include <sys/file.h>

/* ---- getcwd -------------------------------------------------------------- */

FM_NEXT(getcwd)

FM_SLOW char *getcwd_slow(char *buf, size_t n)
{
	struct fm_object b;
	char *mem = fm_object(&b, buf, n, FM_COPY_OUT);
	char *r = FM_LATE(getcwd)(mem, n);

	fm_object_end(&b, r ? strlen(mem) + 1 : 0);
	return r ? buf : NULL;
}

FM_HOOK char *getcwd(char *buf, size_t n)
{
	if (!buf || !fm_touches(buf, n))
		return FM_LATE(getcwd)(buf, n);
	return getcwd_slow(buf, n);
}

/* ---- fcntl ------------------------------------------------------------- */

FM_NEXT(fcntl)
FM_NEXT(flock)
FM_NEXT(lockf)

static bool locks(int cmd)
{
	return cmd == F_SETLK || cmd == F_SETLKW || cmd == F_OFD_SETLK ||
	       cmd == F_OFD_SETLKW;
}

/* Around a lock: who takes one sees what was written under it before, who gives
 * one up has written what the next one will read. */
static void hear_and_tell(int fd)
{
	fm_peers_acquire();
	fm_ipc_before();
	if (fm_looks())
		fm_tell_locked(fd);
}

FM_HOOK int fcntl(int fd, int cmd, ...)
{
	void *arg = FM_VARARG(cmd, void *);
	int r;

	if (locks(cmd))
		hear_and_tell(fd);
	r = FM_CALL_NEXT(FM_FOUND(fcntl), SYS_fcntl, fd, cmd, arg, 0);
	if (!r && locks(cmd))
		fm_peers_acquire();
	return r;
}

FM_HOOK int flock(int fd, int operation)
{
	hear_and_tell(fd);
	return (int)fm_ipc_after(FM_PASS(flock, SYS_flock, fd, operation));
}

FM_HOOK int lockf(int fd, int cmd, off_t len)
{
	hear_and_tell(fd);
	return (int)fm_ipc_after(FM_LATE(lockf)(fd, cmd, len));
}
FM_ALIAS(lockf) int lockf64(int fd, int cmd, off64_t len);

FM_ALIAS(fcntl) int fcntl64(int fd, int cmd, ...);
int __fcntl(int fd, int cmd, ...);
FM_ALIAS(fcntl) int __fcntl(int fd, int cmd, ...);
