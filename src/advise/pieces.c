/* SPDX-License-Identifier: MIT */
#include "pieces.h"

#include "base/types.h"
#include "tunables.h"
#include "weigh.h"

/* A slow stream shows as small pieces side by side, a look after the other. */
#define RECENT 32

/* Is it near, or does a piece of up to 2 MiB lie between the two? */
static bool beside(uintptr_t end, uintptr_t start)
{
	return start <= end + fm_tune.advise_near ||
	       start - end <= fm_stream_reach(start) ||
	       start - end <= fm_stream_reach(end);
}

bool fm_piece_goes_on(uintptr_t start, uintptr_t end)
{
	static struct {
		uintptr_t start, end;
	} recent[RECENT];
	static unsigned next;

	for (unsigned i = 0; i < RECENT; i++) {
		if (!beside(recent[i].end, start) ||
		    !beside(end, recent[i].start))
			continue;
		recent[i].start = start;
		recent[i].end = end;
		return true;
	}
	recent[next].start = start;
	recent[next].end = end;
	next = (next + 1) % RECENT;
	return false;
}

/* What one touch may show: what the kernel maps in around it, or a folio that
 * has a page table entry of its own: where it reads ahead by megabytes it
 * makes such. */
bool fm_piece_single(uintptr_t start, uintptr_t end)
{
	return (end - start) >> FM_PAGE_SHIFT <= fm_tune.weigh_single ||
	       (end - start == FM_HUGE && !(start & (FM_HUGE - 1)));
}
