/* SPDX-License-Identifier: MIT */
#include "pieces.h"

#include "base/sys.h"
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

/* Does it begin where the other one ended, or within what was asked for? */
static bool pieces_next(const struct fm_piece *p, uintptr_t start)
{
	return start >= p->start &&
	       start <= (p->asked > p->end ? p->asked : p->end);
}

/* What was asked for and has come is mapped in with the next that is touched:
 * it counts as touched, too. */
static struct fm_piece pieces_joined(const struct fm_piece *p, uintptr_t start,
				     uintptr_t end, uint32_t look)
{
	if (!pieces_next(p, start))
		return (struct fm_piece){ start, end, start, 0, look, 1 };
	return (struct fm_piece){ fm_least(start, p->end), end, p->from,
				  p->asked, look,
				  p->looks + (p->look != look) };
}

static bool pieces_goes_on_from(const struct fm_piece *p, uintptr_t start,
				uintptr_t end)
{
	return pieces_next(p, start) ||
	       (pieces_beside(p->end, start) && pieces_beside(end, p->start));
}

/* A slow stream shows as small pieces side by side, a look after the other. */
static bool pieces_goes_on(struct fm_recent *p, uintptr_t start, uintptr_t end)
{
	unsigned i = 0;

	while (i < FM_PIECES && !pieces_goes_on_from(&p->recent[i], start, end))
		i++;
	if (i == FM_PIECES)
		p->next = (p->next + 1) % FM_PIECES;
	p->last = i < FM_PIECES ? i : p->next;
	p->recent[p->last] = i < FM_PIECES ?
		pieces_joined(&p->recent[i], start, end, p->look) :
		(struct fm_piece){ start, end, start, 0, p->look, 1 };
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

struct fm_piece *fm_piece_last(struct fm_recent *p)
{
	return &p->recent[p->last];
}

void fm_pieces_next_look(struct fm_recent *p)
{
	p->look++;
}
