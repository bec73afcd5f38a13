/* SPDX-License-Identifier: MIT */
/* pause.c - see pause.h. */
#include "pause.h"

#include "sys.h"

FM_FAULT struct fm_wait fm_wait_for(uint64_t most_ms)
{
	return (struct fm_wait){ fm_now_ms(), most_ms };
}

FM_FAULT bool fm_wait_on(const struct fm_wait *w)
{
	const uint64_t waited = fm_now_ms() - w->begin_ms;

	if (waited >= w->most_ms)
		return false;
	fm_sys_sleep_us(FM_PAUSE_US + waited * 1000 / 10);
	return true;
}
