/* SPDX-License-Identifier: MIT */
/*
 * ring_home.c - the home ring holds every data descriptor as a fixed file and
 * lends it to the rings that transfer.
 */

#include <string.h>
#include "base/fds.h"
#include "base/lock.h"
#include "base/proc.h"
#include "base/tables.h"
#include "fd_backup.h"
#include "fd_recovery.h"
#include "ring_priv.h"

#define MSG_RING_OP 40 /* ABI: IORING_OP_MSG_RING, Linux 6.0 for fds */
#define MSG_SEND_FD 1 /* ABI: IORING_MSG_SEND_FD */
#define MSG_CQE_SKIP 1u /* ABI: IORING_MSG_RING_CQE_SKIP */

/* What was never submitted points to stacks that are gone. */
static FM_FAULT void ring_home_reclaim(void)
{
	struct io_uring_sq *sq = &fm_home.ring.sq;

	*sq->ktail = *sq->khead;
	sq->sqe_head = sq->sqe_tail = *sq->khead;
}

/* The program has closed the ring's number, which was `was`. */
static FM_FAULT bool home_recover(int was)
{
	int fd;

	if (fm_table_is_other())
		return false;
	fd = fm_backup_getfd(FM_BACKUP_HOME);
	fm_recovery_tell("io_uring", fd);
	if (fd < 0)
		return false;
	fm_fd_forget(was);
	fm_home.ring.ring_fd = fm_home.ring.enter_ring_fd = fd;
	return true;
}

static FM_FAULT long home_wait(uint64_t tag)
{
	struct io_uring_cqe *cqe;

	for (;;) {
		int fd = fm_home.ring.ring_fd;
		long err = fm_ring_enter(&fm_home.ring, fm_home.ino, 1);

		if (fm_is_lost(err) && home_recover(fd))
			continue;
		if (err < 0 && err != -EINTR && err != -EAGAIN) {
			ring_home_reclaim();
			return err;
		}
		while (io_uring_peek_cqe(&fm_home.ring, &cqe) == 0) {
			uint64_t got = cqe->user_data;
			long res = cqe->res;

			io_uring_cqe_seen(&fm_home.ring, cqe);
			if (got == tag)
				return res;
		}
	}
}

static struct io_uring_sqe *home_sqe(uint8_t op, int fd, uint64_t tag)
{
	struct io_uring_sqe *sqe = io_uring_get_sqe(&fm_home.ring);

	if (!sqe)
		return NULL;
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = op;
	sqe->fd = fd;
	sqe->user_data = tag;
	return sqe;
}

int fm_home_open(struct fm_file *f, int fd, int flags, bool buffered)
{
	char path[FM_PROC_FD];
	struct io_uring_sqe *sqe;
	long res = -EBUSY;

	fm_proc_fd(path, fd);
	FM_HOLD(&fm_home.lock);
	sqe = home_sqe(IORING_OP_OPENAT, AT_FDCWD, 2);
	if (sqe) {
		sqe->addr = (uintptr_t)path;
		sqe->open_flags = (uint32_t)flags;
		sqe->file_index = fm_slot_of(f, buffered) + 1;
		res = home_wait(2);
	}
	return (int)(res < 0 ? res : 0);
}

#define INSTALL_OP 54 /* ABI: IORING_OP_FIXED_FD_INSTALL, Linux 6.8 */

void fm_ring_dup_probe(void)
{
	union {
		struct io_uring_probe p;
		char room[sizeof(struct io_uring_probe) +
			  256 * sizeof(struct io_uring_probe_op)];
	} u;

	memset(&u, 0, sizeof(u));
	fm_home.dups = !fm_sys4(SYS_io_uring_register, fm_home.ring.ring_fd,
				IORING_REGISTER_PROBE, &u.p, 256) &&
		       u.p.last_op >= INSTALL_OP;
}

bool fm_ring_may_dup(void)
{
	return !fm_home.on || fm_home.dups;
}

void fm_ring_dup_not_mine(void)
{
	fm_home.dups = false;
}

FM_FAULT void fm_ring_dup_begin(uint64_t *ret_old)
{
	fm_block_signals(ret_old);
	fm_lock(&fm_home.lock);
}

FM_FAULT void fm_ring_dup_end(const uint64_t *old)
{
	if (fm_home.on) /* who was killed may have left an entry */
		ring_home_reclaim();
	fm_unlock(&fm_home.lock);
	fm_restore_signals(old);
}

/* Its parent has the lock. No two have one tag: who was killed may have left
 * a completion. */
int fm_home_dup(const struct fm_file *f)
{
	static uint64_t tag = 1ull << 33;
	struct io_uring_sqe *sqe;
	long res = -EBUSY;

	if (!fm_home.on)
		return -EBADF;
	if (!fm_ring_may_dup())
		return -EACCES;
	sqe = home_sqe(INSTALL_OP, (int)fm_slot_of(f, true), ++tag);
	if (sqe) {
		sqe->flags = IOSQE_FIXED_FILE;
		res = home_wait(tag);
	}
	return (int)res;
}

/* Hand a file of the home ring to a pool ring. */
FM_FAULT int fm_home_lend(struct fm_ring *r, struct fm_file *f,
			  bool buffered)
{
	uint32_t *have = buffered ? &r->gen_buf[f->id] : &r->gen[f->id];
	uint32_t gen = atomic_load(&f->gen);
	struct io_uring_sqe *sqe;
	long res = -EBUSY;

	if (*have == gen)
		return 0;
	if (fm_ring_is_other(&r->ring, r->ino))
		return -EBADF;
	fm_lock(&fm_home.lock);
	sqe = home_sqe(MSG_RING_OP, r->ring.ring_fd, 3);
	if (sqe) {
		sqe->addr = MSG_SEND_FD;
		sqe->addr3 = fm_slot_of(f, buffered);
		sqe->file_index = fm_slot_of(f, buffered) + 1;
		sqe->msg_ring_flags = MSG_CQE_SKIP;
		res = home_wait(3);
	}
	fm_unlock(&fm_home.lock);
	if (res < 0)
		return (int)res;
	*have = gen;
	return 0;
}

/* A thread may have died between taking an entry and submitting it: reclaim
 * what the kernel has not seen, and ignore completions that are not ours. */
static FM_FAULT long home_raw(const struct io_uring_sqe *what)
{
	struct io_uring_sq *sq = &fm_home.ring.sq;
	struct io_uring_cq *cq = &fm_home.ring.cq;
	unsigned head = __atomic_load_n(sq->khead, __ATOMIC_ACQUIRE);
	unsigned submit = 1;

	sq->sqes[head & sq->ring_mask] = *what;
	sq->array[head & sq->ring_mask] = head & sq->ring_mask;
	__atomic_store_n(sq->ktail, head + 1, __ATOMIC_RELEASE);
	for (;;) {
		long n = fm_sys6(SYS_io_uring_enter, fm_home.guard_fd, submit,
				 1, IORING_ENTER_GETEVENTS, 0, 8);
		unsigned at = *cq->khead;

		if (n < 0 && n != -EINTR && n != -EAGAIN && n != -EBUSY)
			return n;
		if (n == 1)
			submit = 0;
		for (; at != __atomic_load_n(cq->ktail, __ATOMIC_ACQUIRE);) {
			struct io_uring_cqe c = cq->cqes[at & cq->ring_mask];

			__atomic_store_n(cq->khead, ++at, __ATOMIC_RELEASE);
			if (c.user_data == what->user_data)
				return c.res;
		}
	}
}

FM_FAULT long fm_home_io(uint8_t op, uint32_t slot, void *buf, size_t len,
			 uint64_t off)
{
	static uint64_t tag = 1ull << 32;
	struct io_uring_sqe sqe = {
		.opcode = op == FM_WRITE ? IORING_OP_WRITE : IORING_OP_READ,
		.flags = IOSQE_FIXED_FILE,
		.fd = (int)slot,
		.addr = (uintptr_t)buf,
		.len = (uint32_t)len,
		.off = off,
		.user_data = ++tag,
	};

	if (op == FM_FALLOCATE) {
		sqe.opcode = IORING_OP_FALLOCATE;
		sqe.addr = len;
		sqe.len = 1; /* the mode: FALLOC_FL_KEEP_SIZE */
	}
	return home_raw(&sqe);
}

FM_FAULT long fm_home_fd(uint32_t slot)
{
	struct io_uring_sqe sqe = {
		.opcode = 54, /* IORING_OP_FIXED_FD_INSTALL */
		.flags = IOSQE_FIXED_FILE,
		.fd = (int)slot,
		.user_data = 5,
	};

	return home_raw(&sqe);
}

/* The rings live as long as their memory is mapped, whoever closes what, and
 * a fixed file as long as its ring: so does userfaultfd's registration, whose
 * end would turn missing pages into zeros. What the table has no room for is
 * not kept. */
void fm_rings_keep(int fd)
{
	struct io_uring_files_update up = {
		.fds = (uintptr_t)&fd,
	};
	unsigned n;

	if (fd < 0 || !fm_home.on)
		return;
	n = atomic_fetch_add(&fm_home.kept, 1);
	up.offset = fm_home.files * 2 + n;
	if (n < FM_RINGS_KEPT)
		fm_sys4(SYS_io_uring_register, fm_home.ring.ring_fd,
			IORING_REGISTER_FILES_UPDATE, &up, 1);
}

int fm_home_guarded(void)
{
	fm_home.guard_fd = fm_home.on ? fm_home.ring.ring_fd : -1;
	return fm_home.guard_fd;
}
