/* SPDX-License-Identifier: MIT */
/*
 * detect.h - streams, made out in what is seen of who reads.
 *
 * What is seen is a page that was touched and those that came with it, be it
 * one fault or all that a look has found of a range. It belongs to a stream
 * that comes there; or it begins one, which three signs tell: the next page,
 * the third one at equal distances, or a few in a row that leap a little in one
 * direction. Any reader may have been at the page before; but where many take
 * turns the steps of one are found in its own trail. A stream whose reader
 * turns begins anew.
 *
 * What is touched at random shows such a sign now and then. So a stream may go
 * ahead by twice of what its reader went through, by little more than keeps the
 * device busy, loses half of that credit where the reader leaps, and is
 * forgotten when it is not used for long: what a chance hit brings is small,
 * and what falls into it later does not feed it. And where hardly any stream of
 * a set lasts, as where lists that end soon are read here and there, the first
 * sign is none (fm_detect_in_vain).
 *
 * Users: ahead.c, of the engine's faults; advise/streams.c, of the kernel's
 * mappings. All [fault], under the lock of the set.
 */
#pragma once

#include "map/map.h"

/* How things are seen. */
struct fm_sight {
	int64_t near;      /* pages that may be missing between two */
	uint64_t patience; /* of the clock: a stream not used so long, and so */
	uint64_t each;     /* much more for each of its steps, is over */
};

/* *e was seen, now on the clock of st; e->chain, came and at need not be set.
 * The stream that has gone on there, or NULL. */
struct fm_stream *fm_detect(struct fm_stream_set *st, const struct fm_seen *e,
			    const struct fm_sight *how);
/* Those that are over end. */
void fm_detect_age(struct fm_stream_set *st, const struct fm_sight *how);
/* After that: the one that *e lies in the way of, or NULL. */
struct fm_stream *fm_detect_find(struct fm_stream_set *st,
				 const struct fm_seen *e,
				 const struct fm_sight *how);
/* Whatever was seen: one of that step begins at page i, and counts as having
 * passed so much. */
struct fm_stream *fm_detect_begin(struct fm_stream_set *st, int64_t i,
				  int64_t step, uint64_t passed);

/* Of the streams in order that began of late, so few have lasted that another's
 * first sign is not worth what would be read for it. */
bool fm_detect_in_vain(const struct fm_stream_set *st);

/* Did it go on, or was this seen, not longer ago than that? */
bool fm_detect_lately(const struct fm_stream_set *st, const struct fm_seen *r,
		      const struct fm_sight *how);

/* Pages (or steps) that it may be ahead of a reader that went through so many:
 * twice as many, as long as that is less than keeps the device busy, and little
 * more from there, for what is ahead of one that leaps is wasted. */
uint64_t fm_detect_earned(uint64_t passed, uint64_t busy);
