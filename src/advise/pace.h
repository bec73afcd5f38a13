/* SPDX-License-Identifier: MIT */
/*
 * pace.h - is a stream faster where it is read ahead for? Tried, and measured.
 *
 * For who goes forward the kernel reads ahead, by read_ahead_kb at a time. From
 * a device that answers late that is too little, and the stream waits again and
 * again. But a fault that finds its page under way counts as one that did not
 * wait, and some file systems (FUSE) count no bytes either: nothing tells a
 * process that it waits. So for a while it is only looked how far the stream
 * comes, then it is read ahead for, and that goes on where it came further by a
 * quarter. The slower it is the less of it is looked at: what counts is how
 * many reads of the kernel's it waited for. What is cached, or computes, comes
 * no further; but so does who ends, or leaps, while it is tried: on a network
 * who waits on is tried again, after twice as many reads each time, and what
 * was found of one stream holds for the next. Nothing but arithmetic. [any]
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

enum fm_pace_state {
	FM_PACE_NEW,
	FM_PACE_SEEN,
	FM_PACE_TRIED,
	FM_PACE_BETTER,
	FM_PACE_NO_BETTER,
};

struct fm_pace {
	enum fm_pace_state state;
	uint64_t at_ms, passed; /* of this state */
	uint64_t before;        /* bytes a ms, not read ahead for */
	unsigned vain;          /* trials */
};

/* What is known of the device of a stream. */
struct fm_pace_device {
	uint64_t ahead;  /* bytes that the kernel reads at a time */
	uint64_t before; /* of a stream that was better, lately; 0: none was */
	bool far;        /* a network, whose readers take no turns */
};

/* It has passed so many bytes by now; fewer than the last time: it is another
 * one. Is it to be read ahead for? */
bool fm_pace_helps(struct fm_pace *p, const struct fm_pace_device *d,
		   uint64_t passed, uint64_t now_ms);
/* For how long it has waited for each of the kernel's reads, or computed: what
 * comes within that is not too much to be under way. 0: it is not known yet. */
uint64_t fm_pace_late_ms(const struct fm_pace *p, uint64_t ahead);
