/* SPDX-License-Identifier: MIT */
/*
 * pace.h - is a stream faster where it is read ahead for? Tried, and measured.
 *
 * For who goes forward the kernel reads ahead, by read_ahead_kb at a time. That
 * may be too little, and the stream waits again and again. But a fault that
 * finds its page under way counts as one that did not wait: nothing tells a
 * process that it waits. So for a while it is only looked how far the stream
 * comes, then it is read ahead for, and that goes on where it came further by a
 * quarter. What is cached, or computes, comes no further. Where what a read
 * takes says enough (readahead/kernel_ahead.h) nothing is tried. Nothing but
 * arithmetic. [any]
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
};

/* It has passed so many bytes by now; fewer than the last time: it is another
 * one. Is it to be read ahead for? */
bool fm_pace_helps(struct fm_pace *p, uint64_t passed, uint64_t now_ms);
