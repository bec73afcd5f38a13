/* SPDX-License-Identifier: MIT */
/*
 * stream.h - what a mapping remembers of its last faults, and the streams that
 * were seen in them. What is made of it: ahead.c. Pages count from the
 * mapping's start.
 */
#ifndef FM_STREAM_H
#define FM_STREAM_H

#include "base/lock.h"
#include "base/types.h"

#define FM_STREAMS 8
#define FM_RECENT 8
#define FM_NEVER (INT64_MIN / 4) /* unit: before all */

struct fm_stream {
	bool live;
	int64_t step;    /* pages from one access to the next */
	int64_t pos;     /* last page known to be touched */
	int64_t edge;    /* next page to read ahead (in direction of step) */
	int64_t behind;  /* pages up to here (down to here) were let go */
	uint64_t unit;   /* pages of the next chunk (step +-1) */
	uint64_t passed; /* steps that the reader made one after the other */
	uint64_t used;   /* clock at the last use */
};

/* A fault, and the pages [lo, hi) that were loaded for it. */
struct fm_seen {
	int64_t i, lo, hi;
};

struct fm_stream_set {
	struct fm_lock lock;
	struct fm_seen recent[FM_RECENT];
	unsigned next_recent;
	struct fm_stream_set *next_free;
	uint64_t clock; /* faults */
	struct fm_stream s[FM_STREAMS];
};

/* [fault] The streams of m; made if there are none yet. NULL without memory. */
struct fm_stream_set *fm_streams_of(struct fm_map *m);

/* [fault] Under the lock of st: has the reader of s been here not long ago? */
bool fm_stream_lately(const struct fm_stream_set *st,
		      const struct fm_stream *s);

/* [any] Under the space lock: n, not published yet, takes over from page i of m
 * on; streams that are on their way into it go on there. */
void fm_streams_split(struct fm_map *m, struct fm_map *n, uint64_t i);

/* [any] No stream of m is alive any more. Waits for who holds the lock. */
void fm_streams_forget(struct fm_map *m);

/* [any] m is being freed. */
void fm_streams_gone(struct fm_map *m);

/* [any] In the child of fork, before anything is unmapped. */
void fm_streams_forked(void);

#endif
