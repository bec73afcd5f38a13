/* SPDX-License-Identifier: MIT */
/*
 * store_uring.c - files as slots of the home ring (ring_home.c), lent to the
 * ring that transfers. No number exists that the program could close.
 */
#include "uring.h"
#include <string.h>

#include "fd_recovery.h"
#include "ring_priv.h"
#include "store.h"

extern const struct fm_store fm_store_uring;

static bool store_uring_takes(struct fm_file *f, int fd, const struct stat *st)
{
	return fm_home.on;
}

/* An entry for a transfer of io, or NULL: it has ended. */
static FM_FAULT struct io_uring_sqe *
store_uring_prepare(struct fm_ring *r, struct fm_io *io, uint8_t op)
{
	int err = fm_home_lend(r, io->file, io->buffered);
	struct io_uring_sqe *sqe;

	if (fm_is_lost(err) && fm_recover_ring(r))
		err = fm_home_lend(r, io->file, io->buffered);
	sqe = err ? NULL : io_uring_get_sqe(&r->ring);
	if (!sqe) {
		fm_ring_finish(r, io, err ? err : -EBUSY);
		return NULL;
	}
	memset(sqe, 0, sizeof(*sqe));
	sqe->opcode = op;
	sqe->flags = IOSQE_FIXED_FILE;
	sqe->fd = (int)fm_slot_of(io->file, io->buffered);
	sqe->user_data = (uintptr_t)io;
	return sqe;
}

static FM_FAULT bool transfer(struct fm_ring *r, struct fm_io *io, uint8_t op)
{
	struct io_uring_sqe *sqe = store_uring_prepare(r, io, op);

	if (!sqe)
		return false;
	sqe->off = io->off;
	sqe->addr = (uintptr_t)io->buf;
	sqe->len = (uint32_t)io->len;
	if (io->nowait)
		sqe->rw_flags = 8; /* RWF_NOWAIT */
	return true;
}

static FM_FAULT bool begin_read(struct fm_ring *r, struct fm_io *io)
{
	return transfer(r, io, IORING_OP_READ);
}

static FM_FAULT bool write_pieces(struct fm_ring *r, struct fm_io *io)
{
	struct io_uring_sqe *sqe = store_uring_prepare(r, io, IORING_OP_WRITEV);

	if (!sqe)
		return false;
	sqe->off = io->off;
	sqe->addr = (uintptr_t)io->vec;
	sqe->len = 2;
	return true;
}

static FM_FAULT bool begin_write(struct fm_ring *r, struct fm_io *io)
{
	return io->vec ? write_pieces(r, io) :
			 transfer(r, io, IORING_OP_WRITE);
}

static FM_FAULT bool begin_allocate(struct fm_ring *r, struct fm_io *io)
{
	struct io_uring_sqe *sqe =
		store_uring_prepare(r, io, IORING_OP_FALLOCATE);

	if (!sqe)
		return false;
	sqe->off = io->off;
	sqe->addr = io->len;
	sqe->len = (uint32_t)fm_allocate_mode(io);
	return true;
}

static FM_FAULT bool begin_sync(struct fm_ring *r, struct fm_io *io)
{
	struct io_uring_sqe *sqe = store_uring_prepare(r, io, IORING_OP_FSYNC);

	if (sqe)
		sqe->fsync_flags = IORING_FSYNC_DATASYNC;
	return sqe != NULL;
}

static struct fm_store_io calls FM_FAULT_CALLS = {
	.read = begin_read, .write = begin_write, .allocate = begin_allocate,
	.sync = begin_sync,
};

const struct fm_store fm_store_uring = {
	.name = "uring",
	.direct = true,
	.keeps = true,
	.takes = store_uring_takes,
	.open = fm_home_open,
	.close = fm_ring_close,
	.dup = fm_home_dup,
	.io = &calls,
};
