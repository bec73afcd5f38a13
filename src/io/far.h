/* SPDX-License-Identifier: MIT */
/*
 * far.h - what the engine and the helper that reads for it (src/cmd/store_*.c)
 * have in common: memory with a few slots. A thread that wants bytes claims a
 * slot and posts it; a thread of the helper fills its data and says that it is
 * done. Each step is one word, waited for by futex, so that a fault needs no
 * lock, and whoever dies in the middle takes one slot along.
 *
 *	POSTED -> BUSY -> DONE
 *	engine  helper  helper
 *
 * The word says the slot's turn, too, which the engine counts: what answers
 * another is no answer. Who has claimed a slot is written in memory that the
 * helper has not (backing_far.c): it may be broken, and all that it writes here
 * is judged.
 */
#pragma once

#include <errno.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define FM_FAR_MAGIC 0x34726166u /* bits: "far4" */
#define FM_FAR_SLOTS 16	         /* size: reads at once */
#define FM_FAR_AHEAD 8 /* size: the last of them, for what is read ahead */
#define FM_FAR_BYTES ((size_t)2 << 20) /* size: of a slot's data; a huge page */

/* Descriptors that the helper starts with. */
#define FM_FAR_MEMORY 3 /* ABI: ours */
#define FM_FAR_SOCKET 4 /* ABI: ours; the other end closes: the end */

#define FM_FAR_MOST ((int64_t)1 << 62) /* size: it can be rounded up */

enum { FM_FAR_POSTED = 1, FM_FAR_BUSY, FM_FAR_DONE };
#define FM_FAR_STEP 7u /* bits: of the word; */
#define FM_FAR_TURN 3 /* bits: above it, the turn */
enum { FM_FAR_STARTS, FM_FAR_READY, FM_FAR_FAILED };

struct fm_far_slot {
	_Atomic uint32_t state; /* futex */
	_Atomic int32_t res;    /* len or -errno, when done */
	uint64_t off, len;      /* len: at most FM_FAR_BYTES */
};

struct fm_far {
	uint32_t magic;
	_Atomic uint32_t state;  /* futex: of the helper */
	_Atomic int32_t err;     /* errno, and why it failed */
	char why[160];
	_Atomic int64_t size;
	uint64_t memory;         /* bytes: the program's limit */
	_Atomic uint32_t posted; /* futex: how many slots have been */
	_Atomic uint32_t pump;   /* somebody waits for a byte in the socket */
	struct fm_far_slot slot[FM_FAR_SLOTS];
};

#define FM_FAR_HEAD ((size_t)4096) /* size: where the data begins */
#define FM_FAR_ALL (FM_FAR_HEAD + FM_FAR_SLOTS * FM_FAR_BYTES)
_Static_assert(sizeof(struct fm_far) <= FM_FAR_HEAD, "before the data");

static inline uint32_t fm_far_step(uint32_t word)
{
	return word & FM_FAR_STEP;
}

/* The same slot, a step further. */
static inline uint32_t fm_far_next(uint32_t word, uint32_t step)
{
	return (word & ~FM_FAR_STEP) | step;
}

/* What says something about the source. The engine would take any other as one
 * of its own: EINTR, EAGAIN, EBUSY and ENOMEM it tries again for ever. */
static inline int fm_far_errno(int err)
{
	switch (err) {
	case EACCES:
	case EILSEQ:
	case ENODATA:
	case ENXIO:
	case EPERM:
	case ESTALE:
	case ETIMEDOUT:
		return err;
	default:
		return EIO;
	}
}

static inline char *fm_far_data(struct fm_far *f, unsigned i)
{
	return (char *)f + FM_FAR_HEAD + i * FM_FAR_BYTES;
}
