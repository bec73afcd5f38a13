/* SPDX-License-Identifier: MIT */
#include "pieces.h"

#include "base/types.h"
#include "tunables.h"
#include "advice_cost.h"

/* Is it near, or does a piece of up to 2 MiB lie between the two? */
static bool pieces_beside(uintptr_t end, uintptr_t start)
{
	return start <= end + FM_MAPS_AROUND ||
	       start - end <= fm_stream_reach(start) ||
	       start - end <= fm_stream_reach(end);
}

/* A slow stream shows as small pieces side by side, a look after the other. */
static bool pieces_goes_on(struct fm_recent *p, uintptr_t start, uintptr_t end)
{
	unsigned i = 0;

	while (i < FM_PIECES && (!pieces_beside(p->recent[i].end, start) ||
				 !pieces_beside(end, p->recent[i].start)))
		i++;
	if (i == FM_PIECES)
		p->next = (p->next + 1) % FM_PIECES;
	p->recent[i < FM_PIECES ? i : p->next].start = start;
	p->recent[i < FM_PIECES ? i : p->next].end = end;
	return i < FM_PIECES;
}

/* What one touch may show: what the kernel maps in around it, or a folio that
 * has a page table entry of its own: where it reads ahead by megabytes it
 * makes such. */
static bool pieces_is_short(uintptr_t start, uintptr_t end)
{
	return (end - start) >> FM_PAGE_SHIFT <= fm_tune.advice_single ||
	       (end - start == FM_HUGE && !(start & (FM_HUGE - 1)));
}

bool fm_piece_single(struct fm_recent *p, uintptr_t start, uintptr_t end)
{
	return !pieces_goes_on(p, start, end) && pieces_is_short(start, end);
}
