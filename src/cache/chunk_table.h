/* SPDX-License-Identifier: MIT */
/*
 * chunk_table.h - pages of a file in memory of ours that no mapping shows yet,
 * or any more: what is read ahead of need (readahead/chunk.h) and units that
 * were evicted a moment ago (standby.h). Both are found by the file's pages,
 * which carry FP_AHEAD: a chunk is entered into the table before the first flag
 * is set.
 *
 * All [fault], unless it says more.
 */
#pragma once

#include "base/lock.h"
#include "base/sys.h"
#include "frame.h"
#include "io/io.h"

#define FM_CHUNK_PIECE 16 /* size: pages: small chunks use 64 KiB buffers */
#define FM_CHUNK_PIECES 96 /* size: with all frames no more than a ring takes */
#define FM_CHUNKS (128 + FM_STANDBY)

/* PREP and TAKING have an owner; QUEUED and INFLIGHT are the thread's. */
enum { CH_FREE, CH_PREP, CH_QUEUED, CH_INFLIGHT, CH_READY, CH_TAKING };

struct fm_chunk {
	_Atomic uint32_t state;   /* futex */
	_Atomic bool dead;
	struct fm_file *file;
	uint64_t first, n;        /* file pages */
	long got;                 /* pages with data, or -errno */
	uint32_t map_id, map_gen; /* eager: whom to map it into */
	bool eager;
	bool uncached;            /* the page cache does not have all of it */
	uint64_t stamp;           /* ms; of standby: see standby.c */
	uint64_t tickets;         /* who waits for it; under fm_chunk_lock */
	uint64_t charged;         /* standby: pages that count as cached */
	struct fm_frame *frame;
	int piece;                /* index, or -1 */
	char *mem;
	struct fm_io io;
};

extern struct fm_chunk fm_chunks[FM_CHUNKS];
extern struct fm_lock fm_chunk_lock; /* the table, pieces; readahead: wants */

static inline bool fm_chunk_covers(const struct fm_chunk *c,
				   const struct fm_file *f, uint64_t first,
				   uint64_t stop)
{
	uint32_t s = atomic_load_explicit(&c->state, memory_order_relaxed);

	return s != CH_FREE && c->file == f && c->first < stop &&
	       first < c->first + c->n;
}

/* A chunk (CH_PREP) over n pages that no chunk covers, with memory for them: a
 * frame, or a piece of a few pages. NULL: there is none, or no room. The second
 * is for standby: a frame that can take a unit that is mapped. */
struct fm_chunk *fm_chunk_get(struct fm_file *f, uint64_t first, uint64_t n);
struct fm_chunk *fm_chunk_get_standby(struct fm_file *f, uint64_t first);

/* Who waits for [first, stop) of f waits for the chunks there that are not read
 * yet. When one is, it is told: on release, else by fm_chunk_told. */
void fm_chunk_wait_for(const struct fm_file *f, uint64_t first, uint64_t stop,
		       uint64_t tickets);
void fm_chunk_told(struct fm_chunk *c);

/* Chunks from this index on are CH_FREE. */
int fm_chunk_top(void);
void fm_chunk_set_state(struct fm_chunk *c, uint32_t s);
/* The owner of a chunk (CH_PREP, or CH_TAKING) gives it up. */
void fm_chunk_release(struct fm_chunk *c);
/* FP_AHEAD goes; waits for the locks of pages that have it. */
void fm_chunk_clear_flags(struct fm_file *f, uint64_t first, uint64_t n);

/* [plain] reset: in the child of fork. */
int fm_chunk_table_start(void);
void fm_chunk_table_reset(void);
