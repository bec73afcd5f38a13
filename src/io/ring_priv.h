/* SPDX-License-Identifier: MIT */
/* ring_priv.h - shared by ring.c (pool, transfers), ring_home.c and the
 * stores. */
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
	bool dups;               /* fm_home_dup works */
	int guard_fd;            /* its number in the guardian's table */
	uint32_t files;          /* slots / 2 */
	_Atomic unsigned kept;   /* slots after those (fm_rings_keep) */
};
extern struct fm_home fm_home;
extern struct fm_ring fm_ring_pool[FM_MAX_RINGS];
extern _Atomic uint32_t fm_ring_top; /* rings created so far */

static inline uint32_t fm_slot_of(const struct fm_file *f, bool buffered)
{
	return f->id * 2 + buffered;
}

/* [plain] ring_home.c */
void fm_ring_dup_probe(void);

/* [any] ring_make.c */
int fm_ring_create(struct io_uring *r, unsigned entries, uint32_t slots);
/* [fault] Unmap the memory of r; the descriptor is the caller's to close. */
void fm_ring_unmap(struct io_uring *r);

/* ring.c [fault] */
unsigned fm_ring_reap_ready(struct fm_ring *r);
void fm_ring_finish(struct fm_ring *r, struct fm_io *io, long res);
int fm_allocate_mode(const struct fm_io *io);

/* [plain] ring_home.c, of store.h. */
int fm_home_open(struct fm_file *f, int fd, int flags, bool buffered);
void fm_home_close(struct fm_file *f);
int fm_home_dup(const struct fm_file *f);
/* Hand a file of the home ring to a pool ring. [fault] */
int fm_home_lend(struct fm_ring *r, struct fm_file *f, bool buffered);
