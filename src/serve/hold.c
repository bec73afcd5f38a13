/* SPDX-License-Identifier: MIT */
#include "hold.h"

#include "tunables.h"

uint64_t fm_pause_ms(unsigned failed)
{
	const unsigned most = fm_tune.serve_failed_most;

	return (uint64_t)fm_tune.serve_pause_ms
	       << (failed > most ? most : failed ? failed - 1 : 0);
}

void fm_hold_fail(struct fm_hold *h, uint64_t now_ms)
{
	h->until_ms = now_ms + fm_pause_ms(++h->failed);
}

void fm_hold_most(struct fm_hold *h, uint64_t now_ms)
{
	h->failed = fm_tune.serve_failed_most;
	fm_hold_fail(h, now_ms);
}
