/* SPDX-License-Identifier: MIT */
/* pause.h - a wait for what nobody will wake us for: looks, and pauses between
 * them that grow. */
#ifndef FM_PAUSE_H
#define FM_PAUSE_H

#include <stdint.h>

/* [any] After a look, so many ms after the first one: us at first and at most,
 * between them a tenth of that, so that the end is seen a tenth too late. */
void fm_pause_after(uint64_t waited_ms, uint64_t first, uint64_t most);

#endif
