/* SPDX-License-Identifier: MIT */
/* ring.c - transfers. */
#include "ring_priv.h"

#include <string.h>

#include "answers.h"
#include "base/fds.h"
#include "base/lock.h"
#include "base/pause.h"
#include "base/sys.h"
#include "device.h"
#include "fd_recovery.h"
#include "store.h"
#include "tunables.h"

/* ---- transfers -------------------------------------------------------- */

FM_FAULT int fm_allocate_mode(const struct fm_io *io)
{
	return FALLOC_FL_KEEP_SIZE |
	       (io->punch ? FALLOC_FL_PUNCH_HOLE : 0) |
	       (io->unshare ? FALLOC_FL_UNSHARE_RANGE : 0);
}

FM_FAULT void fm_ring_finish(struct fm_ring *r, struct fm_io *io, long res)
{
	io->res = (int32_t)res;
	fm_device_end(io);
	fm_answers_end(io);
	io->done = true;
	r->ios++;
}

/*
 * The block layer hands a lone request of a device with an I/O scheduler to a
 * kernel worker, which costs a wake-up; requests under a plug are dispatched
 * by the submitter itself. io_uring plugs when a submission has more than two
 * entries (IO_PLUG_THRESHOLD, Linux 5.10 to 6.18 at least): fill up with
 * no-ops that leave no completion.
 */
static FM_FAULT void fill_to_plug(struct fm_ring *r, unsigned n)
{
	for (; n < 3; n++) {
		struct io_uring_sqe *sqe = io_uring_get_sqe(&r->ring);

		if (!sqe)
			return;
		memset(sqe, 0, sizeof(*sqe));
		sqe->opcode = IORING_OP_NOP;
		sqe->flags = IOSQE_CQE_SKIP_SUCCESS;
		sqe->fd = -1;
	}
}

static FM_FAULT bool ring_begin(struct fm_ring *r, struct fm_io *io)
{
	const struct fm_store_io *s = fm_store_of(io->file)->io;

	switch (io->op) {
	case FM_READ:
		return s->read(r, io);
	case FM_WRITE:
		return s->write(r, io);
	case FM_FSYNC:
		return s->sync(r, io);
	default:
		return s->allocate(r, io);
	}
}

/* Queue without entering the kernel. Counted at once: the ring may be found to
 * be gone at the next one. */
static FM_FAULT void ring_queue(struct fm_ring *r, struct fm_io **ios,
				unsigned n)
{
	unsigned queued = 0;

	for (unsigned i = 0; i < n; i++) {
		ios[i]->done = false;
		fm_answers_begin(ios[i]);
		fm_device_begin(ios[i]);
		if (ring_begin(r, ios[i])) {
			queued++;
			r->inflight++;
		} else {
			r->early++;
		}
	}
	if (queued && (ios[0]->op != FM_READ || !ios[0]->nowait))
		fill_to_plug(r, queued);
}

static FM_FAULT unsigned ring_reap_ready(struct fm_ring *r)
{
	struct io_uring_cqe *cqe;
	unsigned n = 0;

	while (io_uring_peek_cqe(&r->ring, &cqe) == 0) {
		struct fm_io *io = (struct fm_io *)(uintptr_t)cqe->user_data;

		fm_ring_finish(r, io, cqe->res);
		io_uring_cqe_seen(&r->ring, cqe);
		r->inflight--;
		n++;
	}
	return n;
}

/* ---- a ring that the program has closed -------------------------------- */

/* What the kernel has not taken, or not been told of yet. The no-ops that fill
 * a submission up carry no I/O. */
static FM_FAULT unsigned not_taken(struct fm_ring *r, struct fm_io **ios)
{
	struct io_uring_sq *sq = &r->ring.sq;
	unsigned at = __atomic_load_n(sq->khead, __ATOMIC_ACQUIRE);
	unsigned n = 0;

	for (; at != sq->sqe_tail && n < FM_RING_DEPTH; at++) {
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

/* What the kernel has not taken ends here. */
static FM_FAULT void ring_give_up(struct fm_ring *r, struct fm_io **ios,
				  unsigned n, int err)
{
	for (unsigned i = 0; i < n; i++)
		fm_ring_finish(r, ios[i], err);
	r->early += n;
	*r->ring.sq.ktail = *r->ring.sq.khead;
	r->ring.sq.sqe_head = r->ring.sq.sqe_tail = *r->ring.sq.khead;
}

FM_FAULT bool fm_recover_ring(struct fm_ring *r)
{
	struct fm_io *ios[FM_RING_DEPTH];
	unsigned n;
	struct io_uring fresh;
	int err;

	if (fm_sys6(SYS_io_uring_enter, r->ring.ring_fd, 0, 0, 0, 0, 0) >= 0 &&
	    !fm_ring_is_other(&r->ring, r->ino))
		return false; /* this one is well */
	n = not_taken(r, ios);
	/* Completions arrive in the mapped memory, at the next system call. */
	while (r->inflight > n) {
		fm_sys0(SYS_sched_yield);
		r->early += ring_reap_ready(r);
	}
	err = fm_ring_create(&fresh, FM_RING_DEPTH, fm_home.files * 2);
	fm_recovery_tell("io_uring", err);
	r->inflight = 0;
	if (err) {
		ring_give_up(r, ios, n, -EIO);
		return false;
	}
	forget_ring(&r->ring);
	r->ring = fresh;
	r->ino = fm_ring_ino(&fresh);
	memset(r->gen, 0, fm_home.files * sizeof(*r->gen));
	memset(r->gen_buf, 0, fm_home.files * sizeof(*r->gen_buf));
	if (n)
		fm_ring_submit(r, ios, n);
	return true;
}

/* A filter of the thread's refuses the call, and will: to go on asking would
 * never end. */
static FM_FAULT bool ring_is_denied(struct fm_ring *r, long err)
{
	struct fm_io *ios[FM_RING_DEPTH];
	unsigned n;

	if (err != -EPERM && err != -EACCES && err != -ENOSYS)
		return false;
	n = not_taken(r, ios);
	r->inflight -= n;
	ring_give_up(r, ios, n, -EIO);
	return true;
}

/* ---- begin and end ------------------------------------------------------ */

FM_FAULT void fm_ring_submit(struct fm_ring *r, struct fm_io **ios,
			     unsigned n)
{
	long err;

	ring_queue(r, ios, n);
	if (!r->uring || !r->inflight)
		return;
	do { /* EINTR, EAGAIN, EBUSY: completions are reaped below us */
		err = fm_ring_enter(&r->ring, r->ino, 0);
		if (fm_is_lost(err)) {
			fm_recover_ring(r);
			return;
		}
		if (ring_is_denied(r, err))
			return;
	} while (err < 0);
}

FM_FAULT unsigned fm_ring_look(struct fm_ring *r)
{
	unsigned n = r->early;

	r->early = 0;
	return r->uring && r->inflight ? n + ring_reap_ready(r) : n;
}

FM_FAULT unsigned fm_ring_reap(struct fm_ring *r)
{
	unsigned n = fm_ring_look(r);

	while (!n && r->uring && r->inflight) {
		long err = fm_ring_enter(&r->ring, r->ino, 1);

		r->slept++;
		if (fm_is_lost(err))
			fm_recover_ring(r);
		else
			ring_is_denied(r, err);
		n = fm_ring_look(r);
	}
	return n;
}

/* Submits and sleeps in one system call. Returns the result. */
FM_FAULT static long submit_and_wait(struct fm_ring *r, struct fm_io *io)
{
	ring_queue(r, &io, 1);
	while (!io->done)
		fm_ring_reap(r);
	r->early = 0;
	return io->res;
}

static FM_FAULT long ring_once(struct fm_io *io)
{
	struct fm_ring *r = fm_ring_get();
	long res = submit_and_wait(r, io);

	fm_ring_put(r);
	return res;
}

/* What the kernel does in a worker of the thread's, it cancels where it can
 * make none: there are as many tasks as there may be. */
static FM_FAULT long once_more(struct fm_io *io)
{
	const struct fm_wait w = fm_wait_for(fm_tune.moment_ms);
	long res = -ECANCELED;

	while (res == -ECANCELED && fm_wait_on(&w))
		res = ring_once(io);
	return res;
}

/* Without a ring: it may take long, and others want one. */
static FM_FAULT long wait_for(struct fm_io *io, long (*wait)(struct fm_io *io))
{
	fm_answers_begin(io);
	fm_device_begin(io);
	io->res = (int32_t)wait(io);
	fm_device_end(io);
	fm_answers_end(io);
	io->done = true;
	return io->res;
}

FM_FAULT long fm_io_once(struct fm_io *io)
{
	const struct fm_store_io *s = fm_store_of(io->file)->io;
	long res;

	if (s->wait)
		return wait_for(io, s->wait);
	res = ring_once(io);
	return res == -ECANCELED ? once_more(io) : res;
}
