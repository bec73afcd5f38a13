/* SPDX-License-Identifier: MIT */
/* pause.c - see pause.h. */
#include "pause.h"

#include "sys.h"

void fm_pause_after(uint64_t waited_ms, uint64_t first, uint64_t most)
{
	const uint64_t us = first + waited_ms * 1000 / 10;

	fm_sys_sleep_us(us < most ? us : most);
}
