/* SPDX-License-Identifier: MIT */
/*
 * wb_span.c - dirty pages that lie near each other, write-protected by one
 * call.
 *
 * Protecting costs a TLB flush, which interrupts every other CPU of the
 * program, whether it is for one page or for a thousand. So pages between two
 * dirty ones are protected along with them. They are locked meanwhile: nobody
 * makes one of them writable, unmaps it, or moves it, and a page that is not
 * writable does not change by being protected.
 */
#include "wb_priv.h"

#include "file/file.h"
#include "map/map.h"
#include "tunables.h"

static FM_FAULT _Atomic uint8_t *state_of(const struct fm_span *s, uint64_t k)
{
	return fm_file_page(s->m->file, s->m->pgoff + s->i + k);
}

FM_FAULT bool fm_span_has(const struct fm_span *s, uint64_t k)
{
	return s->taken[k / 64] >> k % 64 & 1;
}

static FM_FAULT bool to_write(const struct fm_span *s, uint64_t k)
{
	return fm_wb_due(state_of(s, k)) &&
	       (fm_mode(s->m, s->i + k) & PM_PRESENT);
}

/* No store to page k, which is locked, may slip in unseen from here on. False:
 * a system call is storing into it right now, it cannot be protected. */
static FM_FAULT bool wb_span_shut(struct fm_span *s, uint64_t k)
{
	if (!(fm_mode(s->m, s->i + k) & PM_WRITABLE)) {
		s->protect = true; /* is it there? A write has failed before */
		return true;
	}
	if (!fm_pin_shut(s->m, s->i + k))
		return false;
	s->protect = true;
	return true;
}

/* Page k, which is locked, is written. */
static FM_FAULT void take_page(struct fm_span *s, uint64_t k)
{
	fm_page_set(state_of(s, k), FP_WB, FP_REDIRTY);
	s->taken[k / 64] |= 1ull << k % 64;
	s->n = k + 1;
}

/* Nobody makes a page between two dirty ones writable while it is locked. The
 * protection of a part would break up a huge page. */
static FM_FAULT bool wb_span_between(const struct fm_span *s, uint64_t k)
{
	return !(fm_mode(s->m, s->i + k) & (PM_WRITABLE | PM_HUGE));
}

/* Lock pages [from, to] and take the last. False: nothing happened. What was
 * cut off m and moved has the same mode bytes. */
static FM_FAULT bool wb_span_reach(struct fm_span *s, uint64_t from,
				   uint64_t to)
{
	uint64_t k = from;

	for (; k <= to; k++) {
		_Atomic uint8_t *p = state_of(s, k);

		if (!p || !fm_page_trylock(p))
			break;
		if (!fm_map_current(s->m, s->i + k) ||
		    (k < to ? !wb_span_between(s, k)
			    : !to_write(s, k) || !wb_span_shut(s, k))) {
			fm_page_unlock(p);
			break;
		}
	}
	if (k > to) {
		take_page(s, to);
		return true;
	}
	while (k-- > from)
		fm_page_unlock(state_of(s, k));
	return false;
}

static FM_FAULT void leave_page(struct fm_span *s, uint64_t k)
{
	fm_page_set(state_of(s, k), 0, FP_WB | FP_REDIRTY);
	s->taken[k / 64] &= ~(1ull << k % 64);
}

/* One that cannot be protected counts as stored to all the time. What is not
 * ours any more is not written. */
static FM_FAULT void protect_each(struct fm_span *s)
{
	for (uint64_t k = 0; k < s->n; k++) {
		struct fm_map *m = s->m;

		if (!fm_span_has(s, k))
			continue;
		if (fm_page_gone(m, s->i + k)) {
			leave_page(s, k);
			continue;
		}
		if (!fm_uffd_protect(fm_map_addr(m, s->i + k), FM_PAGE, true))
			continue;
		fm_mode_set(m, s->i + k, fm_mode(m, s->i + k) | PM_WRITABLE);
		fm_page_set(state_of(s, k), FP_REDIRTY, 0);
	}
}

static FM_FAULT void unlock_all(const struct fm_span *s)
{
	for (uint64_t k = 0; k < s->n; k++)
		fm_page_unlock(state_of(s, k));
}

/* Over what is not mapped protection passes without an error. */
static FM_FAULT void protect_span(struct fm_span *s)
{
	if (fm_file_torn(s->m->file) ||
	    (s->protect && fm_uffd_protect(fm_map_addr(s->m, s->i),
					   s->n << FM_PAGE_SHIFT, true)))
		protect_each(s);
}

FM_FAULT void fm_span_of(struct fm_span *s, struct fm_map *m, uint64_t i,
			 uint64_t n)
{
	*s = (struct fm_span){ .m = m, .i = i };
	for (uint64_t k = 0; k < n; k++) {
		take_page(s, k);
		if (!wb_span_shut(s, k))
			leave_page(s, k);
	}
	protect_span(s);
	unlock_all(s);
}

FM_FAULT void fm_span_take(struct fm_span *s, struct fm_map *m, uint64_t i,
			   uint64_t max)
{
	uint64_t first = m->pgoff + i, k, stop;

	*s = (struct fm_span){ .m = m, .i = i };
	if (max > fm_map_pages(m) - i)
		max = fm_map_pages(m) - i;
	if (max > FM_SPAN)
		max = FM_SPAN;
	take_page(s, 0);
	if (!wb_span_shut(s, 0)) { /* written as it is, and stays dirty */
		fm_page_set(state_of(s, 0), FP_REDIRTY, 0);
		unlock_all(s);
		return;
	}
	for (unsigned pages = 1; pages < FM_RUN; pages++) {
		stop = s->n + fm_tune.wb_span_gap < max ?
			       s->n + fm_tune.wb_span_gap :
			       max;
		k = fm_dirty_next(m->file, first + s->n, first + stop) - first;
		if (k >= stop || !wb_span_reach(s, s->n, k))
			break;
	}
	protect_span(s);
	unlock_all(s);
}
