/* SPDX-License-Identifier: MIT */
/*
 * far.h - what the engine and the helper that reads for it (src/cmd/store_*.c)
 * have in common: memory with a few slots. A thread that wants bytes claims a
 * slot and posts it; a thread of the helper fills its data and says that it is
 * done. Each step is one word, waited for by futex, so that a fault needs no
 * lock, and whoever dies in the middle takes one slot along.
 *
 *	FREE -> CLAIMED -> POSTED -> BUSY -> DONE -> FREE
 *	     engine     engine    helper  helper  engine
 *
 * But for FREE the word says whose it is, too: a slot that somebody has left
 * must not be mistaken for one that another has claimed meanwhile.
 */
#pragma once

#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>

#define FM_FAR_MAGIC 0x33726166u /* bits: "far3" */
#define FM_FAR_SLOTS 16	         /* size: reads at once */
#define FM_FAR_AHEAD 8 /* size: the last of them, for what is read ahead */
#define FM_FAR_BYTES ((size_t)2 << 20) /* size: of a slot's data; a huge page */

/* Descriptors that the helper starts with. */
#define FM_FAR_MEMORY 3 /* ABI: ours */
#define FM_FAR_SOCKET 4 /* ABI: ours; the other end closes: the end */

enum { FM_FAR_FREE, FM_FAR_CLAIMED, FM_FAR_POSTED, FM_FAR_BUSY, FM_FAR_DONE };
#define FM_FAR_STEP 7u /* bits: of the word; */
#define FM_FAR_OWNER 3 /* bits: above it, the process */
enum { FM_FAR_STARTS, FM_FAR_READY, FM_FAR_FAILED };

struct fm_far_slot {
	_Atomic uint32_t state; /* futex */
	int32_t res;            /* bytes or -errno, when done */
	uint64_t off, len;      /* len: at most FM_FAR_BYTES */
};

struct fm_far {
	uint32_t magic;
	_Atomic uint32_t state;  /* futex: of the helper */
	int32_t err;             /* errno, and why it failed */
	char why[160];
	int64_t size;
	uint64_t memory;         /* bytes: the program's limit */
	_Atomic uint32_t posted; /* futex: how many slots have been */
	_Atomic uint32_t freed;  /* futex: how many slots have been */
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

static inline char *fm_far_data(struct fm_far *f, unsigned i)
{
	return (char *)f + FM_FAR_HEAD + i * FM_FAR_BYTES;
}
