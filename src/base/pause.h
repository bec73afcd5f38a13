/* SPDX-License-Identifier: MIT */
/* pause.h - a wait for what nobody will wake us for: looks, pauses between them
 * that grow, and an end to it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#define FM_PAUSE_US 50 /* ABI: timer slack: who sleeps less sleeps as long */

struct fm_wait {
	uint64_t begin_ms, most_ms;
};

/* [fault] From now on, for so many ms at most. */
struct fm_wait fm_wait_for(uint64_t most_ms);
/* [fault] After a look in vain: pauses, at first as short as can be, then for a
 * tenth of what was waited, so that the end is seen a tenth too late. False:
 * the time is over. */
bool fm_wait_on(const struct fm_wait *w);
