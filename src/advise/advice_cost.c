/* SPDX-License-Identifier: MIT */
#include "advice_cost.h"

#include "base/sys.h"
#include "base/types.h"
#include "tunables.h"

#define DOUBLINGS 5 /* size: of what makes sure, at most */

uintptr_t fm_stream_reach(uintptr_t border)
{
	const uintptr_t piece = border & -border;

	return piece < FM_MAPS_AROUND ? FM_MAPS_AROUND :
	       piece < FM_HUGE ? piece : FM_HUGE;
}

uint64_t fm_advice_sure(const struct fm_advice_facts *f)
{
	return (uint64_t)fm_tune.advice_sure * f->read_ns;
}

/* However much it is, one touch alone makes nothing sure: it may be the first
 * of a row. */
static uint64_t vain_ns(const struct fm_advice_facts *f, uint64_t bytes)
{
	return fm_least((bytes >> FM_PAGE_SHIFT) * f->page_ns,
			fm_advice_sure(f) / fm_tune.advice_few + 1);
}

/* What fits is read once with either, and in larger pieces with MADV_NORMAL. */
struct fm_costs_of fm_advice_costs(const struct fm_touches *s,
				  const struct fm_advice_facts *f)
{
	return (struct fm_costs_of){
		.normal = f->fits ? 0 :
				    s->single * vain_ns(f, f->waste) +
				    s->rows * vain_ns(f, f->row_waste),
		.random = (s->pages + (f->fits ? s->single : 0)) * f->read_ns,
	};
}

uint64_t fm_advice_vain(uint64_t bytes, uint64_t used, uint64_t reads)
{
	return reads && bytes > used ? (bytes - used) / reads : 0;
}

struct fm_touches fm_advice_missed(struct fm_touches s, uint64_t read,
				   uint64_t pages)
{
	if (read < pages)
		s.pages = (uint32_t)(s.pages * read / pages);
	return s;
}

int64_t fm_advice_more(const struct fm_costs_of *c)
{
	const uint64_t more = c->normal > c->random ? c->normal : c->random;
	const uint64_t less = c->normal > c->random ? c->random : c->normal;

	if (less > more - more / 4)
		return 0;
	return (int64_t)c->normal - (int64_t)c->random;
}

bool fm_advice_doubts(const struct fm_opinion *o, const struct fm_costs_of *c)
{
	const int64_t more = fm_advice_more(c);

	return o->says == FM_ADVICE_RANDOM ? more < 0 : more > 0;
}

bool fm_advice_begins_random(const struct fm_advice_facts *f)
{
	return fm_tune.advice_few * (f->waste >> FM_PAGE_SHIFT) * f->page_ns >
	       fm_advice_sure(f);
}

int64_t fm_lean_add(int64_t lean, int64_t more, int64_t most)
{
	lean += more;
	return lean > most ? most : lean < -most ? -most : lean;
}

int64_t fm_opinion_most(const struct fm_opinion *o, uint64_t sure)
{
	return (int64_t)sure << o->wrong;
}

void fm_opinion_says(struct fm_opinion *o, enum fm_advice says, uint64_t sure)
{
	const int64_t most = fm_opinion_most(o, sure);

	o->wrong += o->says && o->says != says && o->wrong < DOUBLINGS;
	o->lean = says == FM_ADVICE_RANDOM ? most : -most;
	o->says = (uint8_t)says;
}

bool fm_opinion_leans(struct fm_opinion *o, int64_t lean, bool heard,
		      uint64_t sure)
{
	const int64_t most = o->says ? 1 : fm_opinion_most(o, sure);
	const enum fm_advice now = lean >= most ? FM_ADVICE_RANDOM :
				   lean <= -most ? FM_ADVICE_NORMAL : o->says;
	const bool other = o->says && o->says != now;

	o->quiet = heard ? 0 : o->quiet;
	o->lean = lean;
	if (now != o->says)
		fm_opinion_says(o, now, sure);
	return other;
}

void fm_opinion_age(struct fm_opinion *o)
{
	o->wrong -= o->wrong && !(++o->age % fm_tune.advice_forgiven_s);
	if (++o->quiet <= fm_tune.advice_known_s)
		return;
	o->quiet = 0;
	o->lean = 0;
	o->says = FM_ADVICE_UNKNOWN;
}

bool fm_advice_fits(uint64_t touches, unsigned segments, uint64_t touched,
		   uint64_t all, uint64_t left)
{
	const bool known = touches && touches >= 2 * segments;
	const uint64_t need = known ? touched : all;

	return need <= left;
}
