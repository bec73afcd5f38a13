/* SPDX-License-Identifier: MIT */
#include "advised.h"

#include <string.h>
#include <sys/mman.h>

#include "base/alloc.h"
#include "base/sys.h"
#include "base/types.h"
#include "scan.h"
#include "streams.h"
#include "tunables.h"

#define SEGMENTS 64 /* size: of an advised range, at most */

struct fm_advise_counts fm_advise_counts;

/* ---- which there are --------------------------------------------------- */

static bool advised_make(struct fm_advised *a, const struct fm_krange *r)
{
	const size_t len = r->end - r->start;

	*a = (struct fm_advised){ .id = r->id,
			       .undone = r->undone,
			       .dev = r->dev,
			       .ino = r->ino,
			       .start = r->start,
			       .end = r->end,
			       .base = r->start,
			       .segment = fm_tune.advised_segment,
			       .stores = r->shared && r->prot & PROT_WRITE };
	while (len / a->segment >= SEGMENTS)
		a->segment *= 2;
	a->n = (unsigned)((len + a->segment - 1) / a->segment);
	a->seg = fm_alloc(a->n * sizeof(a->seg[0]));
	for (unsigned k = 0; a->seg && k < a->n; k++) {
		a->seg[k].advice = r->advised ? FM_ADVICE_UNKNOWN :
						FM_ADVICE_NORMAL;
		a->seg[k].huge = r->advised && r->huge;
	}
	return a->seg;
}

/* Is any of old's segment k in r, which has joined, but was not in old? */
static bool is_of_another(const struct fm_advised *old,
			  const struct fm_krange *r, unsigned k)
{
	const uintptr_t at = old->base + k * old->segment;
	const uintptr_t lo = at > r->start ? at : r->start;
	const uintptr_t hi = fm_least(at + old->segment, r->end);

	return lo < hi && (lo < old->start || hi > old->end);
}

/* A piece of one that there was, or what is one again: its segments stay where
 * they are. Of those that were another's meanwhile, or where what was said has
 * been undone, nothing is known. */
static bool make_from(struct fm_advised *a, const struct fm_advised *old,
		      const struct fm_krange *r)
{
	*a = *old;
	a->start = r->start;
	a->end = r->end;
	a->seg = fm_alloc(old->n * sizeof(a->seg[0]));
	if (!a->seg)
		return false;
	memcpy(a->seg, old->seg, old->n * sizeof(a->seg[0]));
	for (unsigned k = 0; k < a->n; k++) {
		const bool anothers = is_of_another(old, r, k);

		if (!anothers && a->undone == r->undone)
			continue;
		a->seg[k].advice = FM_ADVICE_UNKNOWN;
		a->seg[k].huge = r->huge && (anothers || a->seg[k].huge);
	}
	a->undone = r->undone;
	return true;
}

static bool make_known(const struct fm_advised_all *all, struct fm_advised *a,
		       const struct fm_krange *r, unsigned *k)
{
	const struct fm_advised *old;

	while (*k < all->n && all->v[*k].end <= r->start)
		++*k;
	old = &all->v[*k];
	if (*k < all->n && old->id == r->id && old->start < r->end &&
	    old->base <= r->start &&
	    r->end <= old->base + old->n * old->segment)
		return make_from(a, old, r);
	return advised_make(a, r);
}

static void advised_drop(struct fm_advised *v, unsigned n)
{
	for (unsigned i = 0; i < n; i++)
		fm_free(v[i].seg);
	if (v)
		fm_free(v);
}

/* All of it is made before anything is forgotten: without memory it stays as
 * it was. */
static bool rebuild(struct fm_advised_all *all, unsigned ranges)
{
	struct fm_advised *v = fm_alloc((ranges + 1) * sizeof(*v));
	unsigned n = 0, k = 0;

	if (!v)
		return false;
	for (unsigned i = 0; i < ranges; i++) {
		if (!fm_krange_may_advise(&all->range[i]))
			continue;
		if (!make_known(all, &v[n], &all->range[i], &k)) {
			advised_drop(v, n);
			return false;
		}
		n++;
	}
	advised_drop(all->v, all->n);
	all->v = v;
	all->n = n;
	all->bytes = 0;
	for (unsigned i = 0; i < n; i++)
		all->bytes += v[i].end - v[i].start;
	return true;
}

bool fm_advised_update(struct fm_advised_all *all)
{
	const uint32_t changes = fm_krange_changes() + 1;

	if (all->seen != changes &&
	    rebuild(all, fm_krange_list(NULL, all->range, FM_KRANGES)))
		all->seen = changes;
	return all->n;
}

void fm_advised_forget(struct fm_advised_all *all)
{
	all->v = NULL;
	all->n = all->seen = 0;
	all->bytes = 0;
}

struct fm_advised *fm_advised_at(struct fm_advised_all *all, uintptr_t a)
{
	unsigned lo = 0, hi = all->n;

	while (lo < hi) {
		const unsigned mid = (lo + hi) / 2;

		if (all->v[mid].end > a)
			hi = mid;
		else
			lo = mid + 1;
	}
	return lo < all->n && all->v[lo].start <= a ? &all->v[lo] : NULL;
}

struct fm_run fm_advised_part(const struct fm_advised *a, unsigned from,
			      unsigned to)
{
	const uintptr_t lo = a->base + from * a->segment;
	const uintptr_t hi = a->base + to * a->segment;

	return (struct fm_run){ lo > a->start ? lo : a->start,
				hi < a->end ? hi : a->end };
}

/* ---- how they are read ------------------------------------------------- */

static void touched_once(struct fm_advised_all *all, struct fm_segment *s)
{
	s->seen.single++;
	s->touched_s = (uint32_t)(fm_now_ms() / 1000);
	all->singles++;
	all->look.single++;
	all->look.normal += s->advice != FM_ADVICE_RANDOM;
}

static void look_at_row(struct fm_look *l, const struct fm_segment *s,
			uint64_t pages)
{
	const bool slow = s->advice == FM_ADVICE_RANDOM;

	l->pages += pages;
	l->slow += slow ? pages : 0;
	l->rows += !slow;
}

static void touched_in_row(struct fm_advised *a, uintptr_t start, uintptr_t end)
{
	a->seg[(start - a->base) / a->segment].seen.rows++;
	while (start < end) {
		const uintptr_t k = (start - a->base) / a->segment;
		const uintptr_t border = a->base + (k + 1) * a->segment;
		const uintptr_t stop = border < end ? border : end;

		a->seg[k].seen.pages +=
			(uint32_t)((stop - start) >> FM_PAGE_SHIFT);
		start = stop;
	}
}

/* Each of its pages is a read, and its reader waits for the next one: as it has
 * grown since the last look. Twice as many as it has come through are worth
 * asking for; a touch here or there has no third. */
static void ask_for_more(struct fm_piece *p, const struct fm_advised *a)
{
	const uintptr_t come = p->end - p->from;
	const uintptr_t start = p->asked > p->end ? p->asked : p->end;
	const uintptr_t end = fm_least(p->end + 2 * come, a->end);

	if (p->looks < 2 || come <= 2 * FM_PAGE || start >= end)
		return;
	fm_streams_slow(a->id, start, end);
	p->asked = end;
}

static void touched_row(struct fm_advised_all *all, struct fm_advised *a,
			uintptr_t end)
{
	struct fm_piece *p = fm_piece_last(&all->pieces);
	const uintptr_t start = p->start > a->start ? p->start : a->start;
	const struct fm_segment *s = &a->seg[(start - a->base) / a->segment];
	const bool slow = s->advice == FM_ADVICE_RANDOM;

	end = fm_least(end, a->end);
	look_at_row(&all->look, s, (end - start) >> FM_PAGE_SHIFT);
	fm_streams_touched(&(struct fm_row){ a->id, start, end, slow });
	touched_in_row(a, start, end);
	if (slow)
		ask_for_more(p, a);
}

void fm_advised_touched(struct fm_advised_all *all, uintptr_t start,
			uintptr_t end)
{
	struct fm_advised *a = fm_advised_at(all, start);

	if (!a)
		return;
	fm_count(&fm_advise_counts.touches, 1);
	all->look.faults += ((end - start) >> FM_PAGE_SHIFT) / 16 + 1;
	if (fm_piece_single(&all->pieces, start, end))
		touched_once(all, &a->seg[(start - a->base) / a->segment]);
	else
		touched_row(all, a, end);
}
