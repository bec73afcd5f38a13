/* SPDX-License-Identifier: MIT */
/*
 * prefetch.c - what the program asks for ahead. Where the engine serves it, it
 * joins what MADV_WILLNEED has asked for (readahead/wants.h), as deep as that
 * is read; where the kernel does, it is asked (advise/asked.h).
 */
#include "advise/advise.h"
#include "api.h"
#include "base/epoch.h"
#include "base/sys.h"
#include "base/ticket.h"
#include "engine.h"
#include "map/map.h"
#include "readahead/readahead.h"

/* Pages from i on, up to `stop`, that are (not) in memory. */
static uint64_t run_of(struct fm_map *m, uint64_t i, uint64_t stop, bool there)
{
	uint64_t k = i;

	while (k < stop && fm_mode_resident(fm_mode(m, k)) == there)
		k++;
	return k;
}

/* Long ranges are looked at when their turn comes. */
static void ask_engine(struct fm_map *m, uintptr_t a, uintptr_t end,
		       uint64_t tickets)
{
	const uintptr_t start = atomic_load(&m->start);
	uint64_t i = (a - start) >> FM_PAGE_SHIFT, next;
	const uint64_t stop = fm_least((end - start) >> FM_PAGE_SHIFT,
				       fm_map_pages(m));

	if (stop > i + FM_TOUCH_PAGES) {
		fm_ahead_want(m, i, stop - i, tickets);
		return;
	}
	for (; i < stop; i = next) {
		i = run_of(m, i, stop, true);
		next = run_of(m, i, stop, false);
		if (i < next)
			fm_ahead_want(m, i, next - i, tickets);
	}
}

/* What begins at a: if that is the engine's, ask for it. *ret_end: where it
 * ends, or what is the kernel's. */
static bool ask_if_ours(uintptr_t a, uintptr_t end, uint64_t tickets,
			uintptr_t *ret_end)
{
	uintptr_t at = end;
	struct fm_map *m;
	bool ours;

	FM_BLOCK_SIGNALS();
	FM_IN_EPOCH();
	m = fm_space_next(a, end, &at);
	ours = m && at == a;
	*ret_end = !m ? end : ours ? fm_least(end, atomic_load(&m->end)) : at;
	if (ours)
		ask_engine(m, a, *ret_end, tickets);
	return ours;
}

static void ask_for(const struct fm_api_range *r, uint64_t tickets)
{
	uintptr_t a = r->start, end = r->end;

	/* A child of fork may have to map it first. */
	if (!fm_overlaps((void *)a, end - a)) {
		fm_asked_add(a, end, tickets);
		return;
	}
	/* A mapping that is about to go ends where it begins. */
	for (; a < r->end; a = end > a ? end : a + FM_PAGE)
		if (!ask_if_ours(a, r->end, tickets, &end))
			fm_asked_add(a, end, tickets);
}

int64_t fm_api_prefetch(const struct fastmap_range *range, size_t n,
			unsigned flags)
{
	uint64_t mask, ticket;

	if (flags)
		return -EINVAL;
	ticket = fm_ticket_take(&mask);
	for (size_t k = 0; k < n; k++) {
		const struct fm_api_range r = fm_api_range(&range[k]);

		if (r.start < r.end)
			ask_for(&r, mask);
	}
	fm_ticket_drop(mask);
	return fm_ticket_over(ticket) ? 0 : (int64_t)ticket;
}

int fm_api_wait(int64_t ticket, int ms)
{
	return ticket < 0 ? -EINVAL : fm_ticket_wait((uint64_t)ticket, ms);
}

int fm_api_ticket_fd(int64_t ticket)
{
	return ticket < 0 ? -EINVAL : fm_ticket_fd((uint64_t)ticket);
}
