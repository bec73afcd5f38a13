/* SPDX-License-Identifier: MIT */
/* ring_priv.h - shared by ring_make.c, ring_home.c, ring_pool.c (what rings
 * there are), ring.c (transfers) and the stores; each calls those before it. */
#pragma once

#include "uring.h"

#include "base/lock.h"
#include "base/sys.h"
#include "base/types.h"
#include "ring.h"

#define FM_MAX_RINGS 64 /* size: of the pool */

struct fm_event;

struct fm_ring {
	_Atomic uint32_t taken;
	bool uring;
	unsigned inflight;       /* owner only */
	unsigned early;          /* done at submission */
	struct io_uring ring;
	ino_t ino;               /* of ring, by which it is told from others */
	uint32_t *gen;           /* file generation held in each slot pair */
	uint32_t *gen_buf;
	uint64_t ios, slept;
	/* raised when a transfer ends that a store has begun elsewhere */
	struct fm_event *bell;
};

struct fm_home {
	struct fm_lock lock;
	bool on;
	struct io_uring ring;
	ino_t ino;               /* of ring */
	bool dups;               /* fm_home_dup works */
	int guard_fd;            /* its number in the guardian's table */
	uint32_t files;          /* slots / 2 */
	_Atomic unsigned kept;   /* slots after those (fm_rings_keep) */
};
extern struct fm_home fm_home; /* ring_make.c */

static inline uint32_t fm_slot_of(const struct fm_file *f, bool buffered)
{
	return f->id * 2 + buffered;
}

/* [plain] ring_home.c */
void fm_ring_dup_probe(void);

/* [any] ring_make.c */
int fm_ring_create(struct io_uring *r, unsigned entries, uint32_t slots);
/* [fault] Which ring is under its number, where the kernel tells them apart. 0:
 * none, or it does not say. */
ino_t fm_ring_ino(const struct io_uring *r);
/* [fault] Another ring, which may be the program's. */
bool fm_ring_is_other(const struct io_uring *r, ino_t was);
/* [fault] io_uring_submit(), and wait for so many, or a moment. -EBADF: it was
 * another ring that was entered, under the number of this one. */
long fm_ring_enter(struct io_uring *r, ino_t ino, unsigned wait);
/* [fault] Unmap the memory of r; the descriptor is the caller's to close. */
void fm_ring_unmap(struct io_uring *r);

/* [plain] ring_pool.c, of store.h: no ring has the file any more. */
void fm_ring_close(struct fm_file *f);

/* [fault] ring.c */
void fm_ring_finish(struct fm_ring *r, struct fm_io *io, long res);
/* [fault] The program may have closed the descriptor of r (fd_recovery.h): a
 * new ring takes its place and what had not been submitted. False: it was well,
 * or there is none to be had, and that I/O has failed. */
bool fm_recover_ring(struct fm_ring *r);
/* [fault] Of fallocate. */
int fm_allocate_mode(const struct fm_io *io);

/* [plain] ring_home.c, of store.h. */
int fm_home_open(struct fm_file *f, int fd, int flags, bool buffered);
int fm_home_dup(const struct fm_file *f);
/* Hand a file of the home ring to a pool ring. [fault] */
int fm_home_lend(struct fm_ring *r, struct fm_file *f, bool buffered);
