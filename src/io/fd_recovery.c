/* SPDX-License-Identifier: MIT */
#include "fd_recovery.h"

#include <fcntl.h>
#include "base/fds.h"
#include <string.h>

#include "base/lock.h"
#include "base/log.h"
#include "base/tables.h"
#include "fd_backup.h"
#include "ring_priv.h"
#include "store.h"

/* Finding one, and telling. */
static struct fm_lock lock = FM_LOCK(FM_RANK_LOST);
static bool told;

static FM_FAULT void fd_recovery_tell(const char *what, int err)
{
	if (told)
		return;
	told = true;
	if (err < 0)
		fm_log(FM_LOG_ERROR, "the program has closed descriptors of "
		       "fastmap (%s) and they are not to be found again, errno "
		       "%d: access to what is not resident raises SIGBUS",
		       what, -err);
	else
		fm_log(FM_LOG_NOTE, "the program has closed descriptors of "
		       "fastmap (%s): found again", what);
}

/* ---- from the guardian ------------------------------------------------- */

FM_FAULT bool fm_recover_fd(_Atomic int *number, int was, unsigned what)
{
	const bool place = what >= FM_BACKUP_PLACE;
	uint64_t old;
	int fd;

	if (fm_table_is_other())
		return false;
	fm_block_signals(&old);
	fm_lock(&lock);
	fd = atomic_load(number);
	if (fd == was) {
		fd = fm_backup_getfd(what);
		if (fd >= 0 || !place) /* else it is opened anew */
			fd_recovery_tell(place ? "claims" : "userfaultfd", fd);
		if (fd >= 0) {
			fm_fd_forget(was);
			atomic_store(number, fd);
		}
	}
	fm_unlock(&lock);
	fm_restore_signals(&old);
	return fd >= 0;
}

/* The home ring's lock is held. */
FM_FAULT bool fm_recover_home(int was)
{
	int fd;

	if (fm_table_is_other())
		return false;
	fm_lock(&lock);
	fd = fm_backup_getfd(FM_BACKUP_HOME);
	fd_recovery_tell("io_uring", fd);
	if (fd >= 0) {
		fm_fd_forget(was);
		fm_home.ring.ring_fd = fm_home.ring.enter_ring_fd = fd;
	}
	fm_unlock(&lock);
	return fd >= 0;
}

static FM_FAULT bool is_right(int fd, const struct fm_file *f)
{
	return fm_sys_is_file(fd, f->dev, f->ino);
}

FM_FAULT bool fm_recover_file(struct fm_file *f)
{
	int fd, was;

	if (fm_table_is_other())
		return false;
	fm_lock(&lock);
	if (!is_right(f->io->buffered, f)) {
		fd = fm_backup_get_file(f);
		if (fd >= 0 && !is_right(fd, f)) {
			fm_fd_drop(fd);
			fd = -ENOENT;
		}
		fd_recovery_tell(f->path, fd);
		was = f->io->buffered;
		f->io->buffered = fd;
		fm_fd_forget(was);
	}
	if (!is_right(f->io->direct, f) && f->io->direct >= 0) {
		fm_fd_forget(f->io->direct);
		f->io->direct = -1;
	}
	fd = f->io->buffered;
	fm_unlock(&lock);
	return fd >= 0;
}

FM_FAULT bool fm_recover_path(struct fm_file *f)
{
	int fd, was;

	if (fm_table_is_other())
		return is_right(f->io->path, f);
	fm_lock(&lock);
	was = f->io->path;
	if (was >= 0 && !is_right(was, f)) {
		fd = fm_sys_open(f->path, O_PATH, 0);
		if (is_right(fd, f)) {
			f->io->path = fm_fd_raise(fd);
			fm_fd_forget(was);
			fd_recovery_tell(f->path, 0);
		} else if (fd >= 0) {
			fm_sys_close(fd);
		}
	}
	fd = f->io->path;
	fm_unlock(&lock);
	return is_right(fd, f);
}

/* ---- rings of the pool ------------------------------------------------- */

/* What the kernel has not taken. The no-ops that fill a submission up carry
 * no I/O. */
static FM_FAULT unsigned not_taken(struct fm_ring *r, struct fm_io **ios)
{
	struct io_uring_sq *sq = &r->ring.sq;
	unsigned at = __atomic_load_n(sq->khead, __ATOMIC_ACQUIRE);
	unsigned n = 0;

	for (; at != *sq->ktail && n < FM_RING_DEPTH; at++) {
		struct io_uring_sqe *sqe =
			&sq->sqes[sq->array[at & sq->ring_mask]];

		if (sqe->user_data)
			ios[n++] = (struct fm_io *)(uintptr_t)sqe->user_data;
	}
	return n;
}

/* The number may be the program's by now: not closed. */
static FM_FAULT void forget_ring(struct io_uring *u)
{
	fm_fd_forget(u->ring_fd);
	fm_ring_unmap(u);
}

FM_FAULT bool fm_recover_ring(struct fm_ring *r)
{
	struct fm_io *ios[FM_RING_DEPTH];
	unsigned n;
	struct io_uring fresh;
	int err;

	if (fm_sys6(SYS_io_uring_enter, r->ring.ring_fd, 0, 0, 0, 0, 0) >= 0)
		return false; /* this one is well */
	n = not_taken(r, ios);
	/* Completions arrive in the mapped memory, at the next system call. */
	while (r->inflight > n) {
		fm_sys0(SYS_sched_yield);
		r->early += fm_ring_reap_ready(r);
	}
	fm_lock(&lock);
	err = fm_ring_create(&fresh, FM_RING_DEPTH, fm_home.files * 2);
	fd_recovery_tell("io_uring", err);
	fm_unlock(&lock);
	r->inflight = 0;
	if (err) {
		for (unsigned i = 0; i < n; i++)
			fm_ring_finish(r, ios[i], -EIO);
		r->early += n;
		*r->ring.sq.ktail = *r->ring.sq.khead;
		r->ring.sq.sqe_head = r->ring.sq.sqe_tail = *r->ring.sq.khead;
		return false;
	}
	forget_ring(&r->ring);
	r->ring = fresh;
	memset(r->gen, 0, fm_home.files * sizeof(*r->gen));
	memset(r->gen_buf, 0, fm_home.files * sizeof(*r->gen_buf));
	if (n)
		fm_ring_submit(r, ios, n);
	return true;
}
