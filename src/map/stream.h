/* SPDX-License-Identifier: MIT */
/*
 * stream.h - what was seen of who reads, and the streams that were made out in
 * it (readahead/detect.h). A mapping has such a set for its faults; here it is
 * made, goes along when the mapping is cut, and is given back. Pages count from
 * the mapping's start.
 */
#pragma once

#include "base/lock.h"
#include "base/types.h"

#define FM_STREAMS 8
#define FM_RECENT 8 /* size: of the last of all, */
#define FM_TRAILS 16 /* size: and of each reader, by its hash, */
#define FM_TRAIL 4  /* size: of its own */
#define FM_NEVER (INT64_MIN / 4) /* unit: before all */

struct fm_stream {
	bool live;
	bool helped, slow; /* advise/streams.c's: read for, worth it */
	bool lasted;       /* its reader has come far enough */
	uint32_t who;      /* has made its last step */
	int64_t step;      /* pages from one access to the next */
	int64_t pos;       /* last page known to be touched */
	int64_t edge;      /* next page to read ahead (in direction of step) */
	uint64_t full;     /* pages that were ahead when it last read more */
	int64_t behind;    /* pages up to here (down to here) were let go */
	uint64_t passed;   /* steps that the reader made one after the other */
	uint64_t used;     /* clock at the last use */
};

static inline uint64_t fm_pages_apart(int64_t a, int64_t b)
{
	return (uint64_t)(a > b ? a - b : b - a);
}

/* Do pages lie between its steps? */
static inline bool fm_stream_strided(const struct fm_stream *s)
{
	return s->step != 1 && s->step != -1;
}

/* Page i was touched (FM_NEVER: any of them), and pages [lo, hi) came with it.
 * It continues `chain` others, less than 0: downward, which make `came` pages
 * together. */
struct fm_seen {
	int64_t i, lo, hi;
	uint32_t who;  /* a hash of the reader */
	uint32_t at;   /* clock */
	uint32_t came;
	int chain;
};

struct fm_trail {
	struct fm_seen seen[FM_TRAIL];
	unsigned next;
};

struct fm_stream_set {
	struct fm_lock lock;
	struct fm_stream_set *next_free;
	uint64_t clock; /* of faults, or ms */
	struct fm_seen recent[FM_RECENT];
	unsigned next_recent;
	struct fm_trail trail[FM_TRAILS];
	struct fm_stream s[FM_STREAMS];
	unsigned began;  /* streams in order, of late */
	unsigned lasted; /* of these: went through fm_tune.ahead_proven steps */
};

/* [fault] The streams of m; made if there are none yet. NULL without memory. */
struct fm_stream_set *fm_streams_of(struct fm_map *m);

/* [fault] Under the lock of st: has the reader of s been here not long ago? */
bool fm_stream_lately(const struct fm_stream_set *st,
		      const struct fm_stream *s);

/* [any] Nothing was seen. */
void fm_streams_clear(struct fm_stream_set *st);

/* [any] Under the space lock: n, not published yet, takes over from page i of m
 * on; streams that are on their way into it go on there. */
void fm_streams_split(struct fm_map *m, struct fm_map *n, uint64_t i);

/* [any] No stream of m is alive any more. Waits for who holds the lock. */
void fm_streams_forget(struct fm_map *m);

/* [any] m is being freed. */
void fm_streams_gone(struct fm_map *m);

/* [any] In the child of fork, before anything is unmapped. */
void fm_streams_forked(void);
