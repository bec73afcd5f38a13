/* SPDX-License-Identifier: MIT */
#include "shrinker.h"

static FM_FAULT uint64_t shrink_in(enum fm_shrink_order order, uint64_t want)
{
	uint64_t n = 0;

	FM_UP_EACH(shrinker, s)
		if (s->order == order && n < want)
			n += s->trim(want - n);
	return n;
}

FM_FAULT uint64_t fm_shrink_cached(uint64_t want)
{
	uint64_t n = 0;

	for (int o = 0; o < FM_SHRINK_ORDERS && n < want; o++)
		n += shrink_in((enum fm_shrink_order)o, want - n);
	return n;
}

void fm_shrink_idle(void)
{
	FM_UP_EACH(shrink_idle, trim)
		trim();
}
