/* SPDX-License-Identifier: MIT */
/* fds.c - the engine's own descriptor numbers: high, few, and known. */
#include "fds.h"

#include <sys/resource.h>

#include "by_inode.h"
#include "engine.h"
#include "sys.h"

#define NUMBERS 65536 /* ours are below; a table of 8 KiB */

static _Atomic uint32_t fd_bits[NUMBERS / 32]; /* is this number ours */
static _Atomic int fd_count;
static _Atomic uint32_t fd_what[NUMBERS]; /* and what was it */

bool fm_fd_is_ours(int fd)
{
	if (fd < 0 || fd >= NUMBERS || atomic_load(&fd_count) == 0)
		return false;
	return atomic_load(&fd_bits[fd / 32]) >> (fd % 32) & 1;
}

/* A word made of device and inode; never 0, which says that it is not known. */
static FM_FAULT uint32_t what_is(int fd)
{
	struct stat st;

	if (fm_sys_stat_notimes(fd, &st))
		return 0;
	return (uint32_t)(fm_inode_hash(st.st_dev, st.st_ino) >> 32) | 1;
}

FM_FAULT bool fm_fd_still_ours(int fd)
{
	uint32_t was;

	if (!fm_fd_is_ours(fd))
		return false;
	was = atomic_load(&fd_what[fd]);
	return !was || was == what_is(fd);
}

static void fds_add(int fd)
{
	if (fd < 0 || fd >= NUMBERS)
		return;
	atomic_store(&fd_what[fd], what_is(fd));
	if (!(atomic_fetch_or(&fd_bits[fd / 32], 1u << (fd % 32)) >>
		      (fd % 32) & 1))
		atomic_fetch_add(&fd_count, 1);
}

FM_FAULT void fm_fd_forget(int fd)
{
	if (fd < 0 || fd >= NUMBERS)
		return;
	if (atomic_fetch_and(&fd_bits[fd / 32], ~(1u << (fd % 32))) >>
		    (fd % 32) & 1)
		atomic_fetch_sub(&fd_count, 1);
}

FM_FAULT void fm_fd_drop(int fd)
{
	bool other = fm_fd_is_ours(fd) && !fm_fd_still_ours(fd);

	if (fd < 0)
		return;
	fm_fd_forget(fd);
	if (!other)
		fm_sys_close(fd);
}

int fm_fd_next(int from)
{
	if (from < 0 || from >= NUMBERS || atomic_load(&fd_count) == 0)
		return -1;
	for (int w = from / 32; w < NUMBERS / 32; w++) {
		uint32_t bits = atomic_load(&fd_bits[w]);

		if (w == from / 32)
			bits &= ~0u << from % 32;
		if (bits)
			return w * 32 + __builtin_ctz(bits);
	}
	return -1;
}

/* Shells and daemons expect low numbers to be free: live in the upper part of
 * what the soft limit allows, but not too high up. For each process that is
 * made the kernel copies the table up to the highest number in use, and looks
 * at each of them when all are closed. */
#define HIGH 4096 /* size: of that table */

int fm_fd_raise(int fd)
{
	struct rlimit rl = { 1024, 1024 };
	long top, got = -EMFILE;

	fm_sys4(SYS_prlimit64, 0, RLIMIT_NOFILE, NULL, &rl);
	top = rl.rlim_cur > HIGH ? HIGH : (long)rl.rlim_cur;
	for (long room = top / 4; room >= 4 && got < 0; room *= 2) {
		if (room > top - 3)
			break;
		got = fm_sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, top - room);
	}
	/* A number that counts as ours but was free: closed behind our back
	 * (fd_recovery.h), and its owner does not know yet. Not for another. */
	while (got >= 0 && fm_fd_is_ours((int)got)) {
		long next = fm_sys3(SYS_fcntl, fd, F_DUPFD_CLOEXEC, got + 1);

		fm_sys_close((int)got);
		got = next;
	}
	if (got < 0) { /* keep what we have */
		fds_add(fd);
		return fd;
	}
	fm_sys_close(fd);
	fds_add((int)got);
	return (int)got;
}
