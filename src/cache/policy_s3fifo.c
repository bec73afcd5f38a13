/* SPDX-License-Identifier: MIT */
/*
 * policy_s3fifo.c - S3-FIFO (Yang et al., SOSP'23, section 4) cut down to what
 * can be known without access bits: a small queue for what was loaded once, a
 * main queue for what came back soon after it was evicted.
 */
#include "evict_policy.h"

enum { SMALL, MAIN };

static FM_FAULT bool policy_s3fifo_enter(bool again)
{
	return again;
}

static FM_FAULT unsigned policy_s3fifo_queue(bool mark)
{
	return mark ? MAIN : SMALL;
}

/* The small one while it has more than its tenth. */
static FM_FAULT unsigned victim(const struct fm_evict_len *len)
{
	return len[SMALL].pages * 9 >= len[MAIN].pages || !len[MAIN].entries ?
		       SMALL : MAIN;
}

const struct fm_evict_policy fm_evict_s3fifo FM_FAULT_CALLS = {
	.name = "s3fifo",
	.standby = true,
	.enter = policy_s3fifo_enter,
	.queue = policy_s3fifo_queue,
	.victim = victim,
};
