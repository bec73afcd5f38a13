/* SPDX-License-Identifier: MIT */
/*
 * hold.h - for how long nothing is changed after a change that was wrong.
 *
 * A minute, and twice as long after each further one, up to half an hour. For
 * what costs less to try, as a take-over, so many milliseconds in the place of
 * the minute. Ten minutes after it was over all begins anew.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>

struct fm_hold {
	uint64_t until_ms;
	unsigned failed; /* in a row */
};

/* [any] When so many in a row were wrong. */
uint64_t fm_pause_ms(unsigned failed);
/* [plain] One more was. */
void fm_hold_fail(struct fm_hold *h, uint64_t now_ms);
/* [any] The same, where the first time is for first_ms. */
void fm_hold_for(struct fm_hold *h, uint64_t now_ms, uint64_t first_ms);
/* [plain] It cannot be done at all: for the longest time. */
void fm_hold_most(struct fm_hold *h, uint64_t now_ms);

static inline bool fm_holds(const struct fm_hold *h, uint64_t now_ms)
{
	return now_ms < h->until_ms;
}
