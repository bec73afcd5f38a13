/* SPDX-License-Identifier: MIT */
/*
 * estimate.c - what is touched, by two looks at what is mapped in.
 *
 * Pages that were not mapped in at the first look and are at the second have
 * been touched between the two, or lie around one that has been (the kernel
 * maps in up to 16 that are in the page cache). A look ends when it has seen
 * enough: sparse memory is seen whole, dense memory piece by piece.
 */
#include "advised.h"
#include "base/types.h"
#include "scan.h"
#include "source.h"

#define RUNS 4096
#define SPANS 512

/* One look: the spans that were looked at, and the runs there in order. */
struct look {
	struct fm_run span[SPANS];
	struct fm_run run[RUNS];
	unsigned spans, runs;
};

static struct look looks[2], *last = &looks[0], *now = &looks[1];
static uintptr_t cursor; /* where the next look begins */

/* False: it ends here. */
static bool estimate_look_at(struct look *l, uintptr_t start, uintptr_t end)
{
	uintptr_t stop;

	if (l->spans == SPANS || l->runs == RUNS)
		return false;
	l->runs += fm_scan(start, end, l->run + l->runs, RUNS - l->runs, &stop);
	l->span[l->spans++] = (struct fm_run){ start, stop };
	return stop == end;
}

/* From the cursor on; in the end the next one begins anew. */
static void estimate_first_look(const struct fm_advised_all *all,
				struct look *l)
{
	uintptr_t start, end;

	l->spans = l->runs = 0;
	for (unsigned i = 0; i < all->n; i++) {
		start = all->v[i].start;
		end = all->v[i].end;
		if (end <= cursor)
			continue;
		if (!estimate_look_at(l, start > cursor ? start : cursor,
				      end)) {
			cursor = l->span[l->spans - 1].end;
			return;
		}
	}
	cursor = 0;
}

static void same_look(struct look *l, const struct look *as)
{
	bool more = true;

	l->spans = l->runs = 0;
	for (unsigned i = 0; i < as->spans && more; i++)
		more = estimate_look_at(l, as->span[i].start, as->span[i].end);
}

/* ---- what is new ------------------------------------------------------- */

struct group {
	uintptr_t start, end;
	struct fm_advised_all *all;
	fm_touch_fn touched;
};

static void add_new(struct group *g, uintptr_t start, uintptr_t end)
{
	if (g->end && start >= g->end && start - g->end < FM_MAPS_AROUND) {
		g->end = end;
		return;
	}
	if (g->end)
		g->touched(g->all, g->start, g->end);
	g->start = start;
	g->end = end;
}

/* What of r is in none of the older runs, from number *i on. */
static void subtract(struct fm_run r, const struct look *old, unsigned *i,
		     struct group *g)
{
	while (*i < old->runs && old->run[*i].end <= r.start)
		++*i;
	for (unsigned k = *i; k < old->runs && old->run[k].start < r.end; k++) {
		if (old->run[k].start > r.start)
			add_new(g, r.start, old->run[k].start);
		r.start = old->run[k].end;
	}
	if (r.start < r.end)
		add_new(g, r.start, r.end);
}

static void estimate_compare(const struct look *old, const struct look *new,
			     struct fm_advised_all *ranges, fm_touch_fn touched)
{
	struct group g = { 0, 0, ranges, touched };

	for (unsigned k = 0, i = 0; k < new->runs; k++)
		subtract(new->run[k], old, &i, &g);
	if (g.end)
		touched(ranges, g.start, g.end);
}

static unsigned estimate_covered(const struct look *l,
				 const struct fm_advised_all *ranges)
{
	const uint64_t all = ranges->bytes >> FM_PAGE_SHIFT;
	uint64_t part = 0;

	for (unsigned i = 0; i < l->spans; i++)
		part += (l->span[i].end - l->span[i].start) >> FM_PAGE_SHIFT;
	if (!part || !all)
		return 0;
	return part >= all ? 1000 : (unsigned)(part * 1000 / all) + 1;
}

static unsigned estimate_collect(struct fm_advised_all *ranges,
				 fm_touch_fn touched)
{
	unsigned part = 0;
	struct look *l = last;
	bool whole = last->spans && !cursor;

	if (last->spans) {
		same_look(now, last);
		estimate_compare(last, now, ranges, touched);
		part = estimate_covered(now, ranges);
	}
	/* Seen whole: the second look is the first of the next two. */
	if (whole && now->spans == last->spans && now->runs < RUNS) {
		last = now;
		now = l;
	} else {
		estimate_first_look(ranges, last);
	}
	return part;
}

static void estimate_rest(void)
{
	last->spans = 0;
}

const struct fm_source fm_source_estimate = { "estimates", fm_scan_works,
					      estimate_collect, estimate_rest,
					      NULL };
