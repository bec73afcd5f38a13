/* SPDX-License-Identifier: MIT */
/*
 * ring.h - device I/O.
 *
 * A pool of io_urings; a thread takes one exclusively, transfers, gives it
 * back, so no completion is ever handed between threads. Data descriptors
 * live only as fixed files: each file is opened straight into two slots of
 * the home ring (direct and buffered) and handed to a pool ring the first
 * time that ring needs it. No descriptor number exists that the program could
 * close, dup over or inherit, and closing a slot drops no POSIX lock.
 *
 * Without io_uring (forbidden, absent) the same calls use pread/pwrite on
 * descriptors with high numbers.
 *
 * All [fault], unless it says more.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <sys/uio.h>

struct fm_file;
struct fm_ring;

enum fm_op { FM_READ, FM_WRITE, FM_FSYNC, FM_FALLOCATE };

struct fm_io {
	struct fm_file *file;
	void *buf;
	uint64_t off;     /* bytes */
	uint64_t len;     /* bytes, at most 2 GiB - 4 KiB for a transfer */
	uint8_t op;
	bool buffered;    /* through the page cache instead of O_DIRECT */
	/* buffered read: only what is cached, else -EAGAIN. Direct write: only
	 * over blocks that the file has, without waiting, else the same. */
	bool nowait;
	bool done;
	bool unshare;     /* fallocate: blocks of its own, reflink.h */
	bool punch;       /* fallocate: none any more */
	bool asked;       /* and not answered yet: answers.h */
	int32_t res;      /* bytes or -errno, valid once done */
	uint64_t began;   /* ns, device.h; 0: it is not measured */
	uint32_t company; /* reads in flight on the device then */
	/* of a write: buf in two pieces, of which the first lies elsewhere, or
	 * NULL (file/witness.h) */
	const struct iovec *vec;
	void *user;
};

#define FM_RING_DEPTH 128 /* size: entries of a ring */

/* [plain] Probe and create the home ring (life.h does; and `fastmap doctor`).
 * limit: most pool rings, 1 to 64. 0 with io_uring, 1 without (pread and pwrite
 * then), -errno when nothing works. */
int fm_rings_start(uint32_t limit, bool use_uring);
/* Is there io_uring? */
bool fm_rings_uring(void);
/* [plain] Files that fit the fixed tables (RLIMIT_NOFILE counts), and those of
 * them that may be open. */
uint32_t fm_rings_max_files(void);
uint32_t fm_rings_most_open(void);

/* Who holds a ring waits for nothing but the device: no page lock, no second
 * ring. So one ring is enough for progress. */
struct fm_ring *fm_ring_get(void);
void fm_ring_put(struct fm_ring *r);
/* [plain] A ring outside of the pool, for a thread that keeps it. NULL when
 * there is none to be had. */
struct fm_ring *fm_ring_own(void);
/* [plain] That thread waits for this event while nothing is in flight: a store
 * whose transfers end elsewhere, by whatever thread, sets `done` and raises
 * it. */
struct fm_event;
void fm_ring_set_bell(struct fm_ring *r, struct fm_event *bell);
/* Queue and submit (n <= FM_RING_DEPTH - in flight). */
void fm_ring_submit(struct fm_ring *r, struct fm_io **ios, unsigned n);
/* Take note of what is done. Returns how many transfers have ended. */
unsigned fm_ring_look(struct fm_ring *r);
/* Like fm_ring_look, but sleep until at least one has ended (or none is in
 * flight). */
unsigned fm_ring_reap(struct fm_ring *r);
unsigned fm_ring_inflight(const struct fm_ring *r);
/* [fault] Nobody wants io, a read, any more, which cannot be used for anything
 * else meanwhile. False: it ends when the device has answered. True: now, or,
 * if it is just being begun or ended, soon: ask again. */
bool fm_io_cancel(struct fm_io *io);
/* Take a ring, submit one transfer, wait, give the ring back. Returns its
 * result. */
long fm_io_once(struct fm_io *io);

/* For the guardian, which is alone in this memory: one I/O on the home ring
 * with no lock and no libc, whatever state dead threads left it in. slot:
 * 2 * file id (direct) or 2 * file id + 1 (buffered). */
long fm_home_io(uint8_t op, uint32_t slot, void *buf, size_t len,
		uint64_t off);
/* [plain] The guardian starts: remember which number the home ring has in its
 * table, and return it. */
int fm_home_guarded(void);
/* [plain] No ring has a file any more, of those with ids below `top`: each is
 * closed when this returns, unless something reads it. release_dead: in the
 * guardian. */
void fm_rings_release(uint32_t top);
void fm_rings_release_dead(uint32_t top);
/* [plain] Nothing is in flight any more: wait until the kernel's workers have
 * let go of the files, too. For the end of the process, before the release. */
void fm_rings_settle(void);
/* [plain] A worker of the calling thread's, by number: it ends when it has been
 * idle for 5 s, although it is the last. Nothing where there is one CPU. */
void fm_rings_let_worker_go(int tid);
void fm_rings_workers_as_were(void);
/* [plain] Hold a reference on fd (-1: on nothing) for the life of this memory,
 * so that it is closed in a worker of the kernel. Of so many, no more. */
#define FM_RINGS_KEPT 8u /* size: slots */
void fm_rings_keep(int fd);
/* A plain descriptor of that slot in the caller's table (Linux 6.8), or
 * -errno. */
long fm_home_fd(uint32_t slot);
/* [plain] Does the dup of the store work here? Linux 6.8 with io_uring. */
bool fm_ring_may_dup(void);
/* [plain] In the child of fork: it does not, until its rings are its own. */
void fm_ring_dup_not_mine(void);
/* [fault] Around a process (base/apart.h) that may ask for it. The home ring's
 * lock is its parent's meanwhile: a process that is killed gives up none. */
void fm_ring_dup_begin(uint64_t *ret_old);
void fm_ring_dup_end(const uint64_t *old);

/* [plain] */
struct fm_ring_stats {
	uint64_t ios, slept, rings;
};
void fm_ring_stats(struct fm_ring_stats *ret);
