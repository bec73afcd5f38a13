/* SPDX-License-Identifier: MIT */
/*
 * policy_clock.c - second chance: a page that was referenced since the hand
 * passed stays for another round. Known references are a store, and a fault
 * soon after the page was evicted; that reads of present pages go unseen is the
 * price of having no access bits.
 */
#include "evict_policy.h"

static FM_FAULT bool policy_clock_enter(bool again)
{
	return again;
}

static FM_FAULT bool policy_clock_stays(bool *mark, bool dirty)
{
	bool referenced = *mark;

	*mark = dirty;
	return referenced;
}

const struct fm_evict_policy fm_evict_clock FM_FAULT_CALLS = {
	.name = "clock",
	.enter = policy_clock_enter,
	.stays = policy_clock_stays,
};
