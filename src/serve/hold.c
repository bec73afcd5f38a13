/* SPDX-License-Identifier: MIT */
#include "hold.h"

#include "tunables.h"

static uint64_t pause_of(uint64_t first_ms, unsigned failed)
{
	const unsigned most = fm_tune.serve_failed_most;

	return first_ms << (failed > most ? most : failed ? failed - 1 : 0);
}

uint64_t fm_pause_ms(unsigned failed)
{
	return pause_of(fm_tune.serve_pause_ms, failed);
}

void fm_hold_for(struct fm_hold *h, uint64_t now_ms, uint64_t first_ms)
{
	if (now_ms > h->until_ms + fm_tune.serve_calm_ms)
		h->failed = 0;
	h->until_ms = now_ms + pause_of(first_ms, ++h->failed);
}

void fm_hold_fail(struct fm_hold *h, uint64_t now_ms)
{
	fm_hold_for(h, now_ms, fm_tune.serve_pause_ms);
}

void fm_hold_most(struct fm_hold *h, uint64_t now_ms)
{
	h->failed = fm_tune.serve_failed_most;
	h->until_ms = now_ms + fm_pause_ms(++h->failed);
}
