/* SPDX-License-Identifier: MIT */
#include "advice_choice.h"

#include "base/life.h"
#include "base/sys.h"
#include "base/types.h"
#include "family.h"
#include "folios.h"
#include "io/io.h"
#include "memory.h"
#include "readahead/readahead.h"
#include "say.h"
#include "scan.h"
#include "streams.h"
#include "tunables.h"

static uint32_t now_s(void)
{
	return (uint32_t)(fm_now_ms() / 1000);
}

/* ---- memory ------------------------------------------------------------ */

static uint64_t memory_left(struct fm_advised_all *all)
{
	const uint64_t now = fm_now_ms();

	if (now >= all->left_ms) {
		all->left = fm_memory_left("");
		all->left_ms = now + 1000;
	}
	return all->left;
}

static uint64_t run_bytes(struct fm_run r)
{
	return r.end > r.start ? r.end - r.start : 0;
}

static bool advice_choice_is_used(const struct fm_segment *s)
{
	return s->touched_s &&
	       s->touched_s + fm_tune.advice_forgiven_s >= now_s();
}

/* Does what is touched here and there? */
static bool advice_choice_fits(struct fm_advised_all *all)
{
	uint64_t bytes = 0;
	unsigned n = 0;

	for (unsigned i = 0; i < all->n; i++)
		for (unsigned k = 0; k < all->v[i].n; k++) {
			if (!advice_choice_is_used(&all->v[i].seg[k]))
				continue;
			bytes += run_bytes(
				fm_advised_part(&all->v[i], k, k + 1));
			n++;
		}
	return fm_advice_fits(all->singles, n, bytes, all->bytes,
			     memory_left(all));
}

/* ---- what a look costs ------------------------------------------------- */

/* Since the last call. */
static uint64_t read_for_streams(void)
{
	static uint64_t before;
	const uint64_t now = atomic_load(&fm_streams_counts.bytes);
	const uint64_t bytes = now - before;

	before = now;
	return bytes;
}

/* Many faults may be others' (of memory from malloc): no more than were seen,
 * of so many thousandths. */
static void note_use(struct fm_look *l, const struct fm_advised_use *use,
		     unsigned part)
{
	const uint64_t ahead = read_for_streams();

	l->faults = fm_least(use->faults, l->faults * 1000 / part);
	l->major = fm_least(use->major, l->faults);
	l->bytes = use->bytes - fm_least(use->bytes, ahead);
	/* of all of it, for a row may lie in the part that was seen */
	l->read = use->major + (ahead >> FM_PAGE_SHIFT) + 1;
}

static uint64_t used_of(const struct fm_look *l, unsigned part)
{
	return ((l->pages + l->single) << FM_PAGE_SHIFT) * 1000 / part;
}

/* Bytes that MADV_NORMAL reads in vain for a touch here or there on dev. One
 * that waits reads all that the kernel reads ahead, and one that finds its page
 * nothing; where most are MADV_NORMAL no more than was read but for rows. */
static uint64_t waste_of(const struct fm_look *l, dev_t dev, unsigned part)
{
	uint64_t waste = fm_readahead_bytes(dev);

	if (l->faults)
		waste = waste * l->major / l->faults;
	if (2 * l->normal > l->single)
		waste = fm_least(waste, fm_advice_vain(
						l->bytes, used_of(l, part),
						l->normal * 1000 / part));
	return waste;
}

/* And for a piece of a row, as was measured: chance makes rows, too, and of
 * these what is read ahead stays untouched. */
static uint64_t row_waste_of(const struct fm_look *l, dev_t dev, unsigned part)
{
	return fm_least(fm_readahead_bytes(dev),
			fm_advice_vain(l->bytes, used_of(l, part),
				       (l->normal + l->rows) * 1000 / part));
}

/* What is in memory costs nothing with MADV_RANDOM either. */
static struct fm_costs_of costs_of_segment(const struct fm_look *l,
					   const struct fm_segment *s,
					   const struct fm_advice_facts *f)
{
	struct fm_touches seen = s->seen;

	if (s->advice == FM_ADVICE_RANDOM) {
		seen.rows = 0;
		seen = fm_advice_missed(seen, l->read, l->slow);
	}
	return fm_advice_costs(&seen, f);
}

static struct fm_advice_facts
advice_choice_facts_of(const struct fm_advised_all *all, unsigned i,
		       unsigned part, bool it_fits)
{
	const dev_t dev = all->v[i].dev;
	struct fm_device_price d;

	if (i && all->v[i - 1].dev == dev)
		return all->v[i - 1].facts;
	d = fm_device_price(dev);
	return (struct fm_advice_facts){ d.read, d.page,
					waste_of(&all->look, dev, part),
					it_fits,
					row_waste_of(&all->look, dev, part) };
}

static void add_costs(struct fm_costs_of *to, struct fm_costs_of c)
{
	to->normal += c.normal;
	to->random += c.random;
}

/* Of all advised ranges; each knows its own. */
static struct fm_costs_of costs(struct fm_advised_all *all, unsigned part,
				bool it_fits)
{
	struct fm_costs_of sum = { 0 };

	for (unsigned i = 0; i < all->n; i++) {
		struct fm_advised *a = &all->v[i];

		a->facts = advice_choice_facts_of(all, i, part, it_fits);
		a->costs = (struct fm_costs_of){ 0 };
		for (unsigned k = 0; k < a->n; k++)
			add_costs(&a->costs,
				  costs_of_segment(&all->look, &a->seg[k],
						   &a->facts));
		add_costs(&sum, a->costs);
	}
	return sum;
}

/* ---- opinions ---------------------------------------------------------- */

static bool hear(struct fm_opinion *o, const struct fm_costs_of *c,
		 const struct fm_advice_facts *f)
{
	const uint64_t sure = fm_advice_sure(f);
	const int64_t more = fm_advice_more(c);

	return fm_opinion_leans(o, fm_lean_add(o->lean, more,
					       fm_opinion_most(o, sure)),
				more, sure);
}

static bool hear_family(struct fm_advised *a)
{
	const uint64_t sure = fm_advice_sure(&a->facts);
	struct fm_opinion *o = &a->opinion;
	const int64_t more = fm_advice_more(&a->costs);
	const int64_t lean = fm_family_lean(a->dev, a->ino, more,
					    fm_opinion_most(o, sure));
	const bool other = fm_opinion_leans(o, lean, more, sure);

	if (o->lean != lean)
		fm_family_leans(a->dev, a->ino, o->lean);
	return other;
}

/* What a program did before says nothing any more. */
static void forget_segments(struct fm_advised *a)
{
	for (unsigned k = 0; k < a->n; k++)
		a->seg[k].opinion = (struct fm_opinion){ 0 };
	fm_streams_over();
}

static void forget_ranges(struct fm_advised_all *all)
{
	for (unsigned i = 0; i < all->n; i++) {
		if (all->v[i].opinion.says == all->opinion.says)
			continue;
		fm_family_leans(all->v[i].dev, all->v[i].ino, 0);
		all->v[i].opinion.lean = 0;
		all->v[i].opinion.says = FM_ADVICE_UNKNOWN;
		forget_segments(&all->v[i]);
	}
}

static void hear_segments(const struct fm_look *l, struct fm_advised *a)
{
	for (unsigned k = 0; k < a->n; k++) {
		struct fm_segment *s = &a->seg[k];
		const struct fm_costs_of c = costs_of_segment(l, s, &a->facts);

		hear(&s->opinion, &c, &a->facts);
		s->seen = (struct fm_touches){ 0 };
	}
}

static void age(struct fm_advised_all *all)
{
	if (all->aged_s == now_s())
		return;
	all->aged_s = now_s();
	all->singles /= 2;
	fm_opinion_age(&all->opinion);
	for (unsigned i = 0; i < all->n; i++) {
		fm_opinion_age(&all->v[i].opinion);
		for (unsigned k = 0; k < all->v[i].n; k++)
			fm_opinion_age(&all->v[i].seg[k].opinion);
	}
}

/* ---- what follows ------------------------------------------------------ */

static bool stream_comes(const struct fm_advised *a, unsigned k)
{
	const uintptr_t at = a->base + k * a->segment;

	return fm_streams_come(a->id, at, at + a->segment);
}

/* Where reading in order costs less all in all, a few pages tell of a segment:
 * of several readers each would have to make it sure alone. */
static bool goes_with(const struct fm_segment *s, enum fm_advice whole)
{
	return whole == FM_ADVICE_NORMAL && s->opinion.lean < 0;
}

/* As long as an advised range has begun at MADV_RANDOM and was not quiet since,
 * a row says nothing of segments to which it does not come: to be wrong there
 * is cheap. */
static enum fm_advice advice_choice_wanted(const struct fm_advised_all *all,
					const struct fm_advised *a, unsigned k)
{
	const struct fm_segment *s = &a->seg[k];
	const enum fm_advice whole = a->opinion.says ? a->opinion.says :
						       all->opinion.says;

	if (s->opinion.says)
		return s->opinion.says;
	if (a->guess && s->opinion.lean <= 0 &&
	    (goes_with(s, whole) || stream_comes(a, k)))
		return FM_ADVICE_NORMAL;
	if (whole == FM_ADVICE_RANDOM || (whole && !a->guess))
		return whole;
	return s->advice == FM_ADVICE_RANDOM ? FM_ADVICE_RANDOM :
					       FM_ADVICE_NORMAL;
}

static _Atomic bool in_order; /* is what the program reads, as a rule */

static void count_random(struct fm_advised_all *all)
{
	uint64_t bytes = 0;

	all->guess = false;
	for (unsigned i = 0; i < all->n; i++) {
		all->guess |= all->v[i].guess;
		for (unsigned k = 0; k < all->v[i].n; k++)
			if (all->v[i].seg[k].advice != FM_ADVICE_NORMAL)
				bytes += run_bytes(
					fm_advised_part(&all->v[i], k, k + 1));
	}
	atomic_store(&fm_advise_counts.random_bytes, bytes);
	atomic_store(&in_order, all->opinion.says == FM_ADVICE_NORMAL);
}

/* If nothing is known of it the kernel reads it as it does natively. */
static int end_guess(struct fm_advised_all *all, struct fm_advised *a)
{
	a->guess = false;
	if (!a->opinion.says)
		fm_opinion_says(&a->opinion, FM_ADVICE_NORMAL,
				fm_advice_sure(&a->facts));
	return fm_say(all, a, advice_choice_wanted, false);
}

void fm_advised_forked(struct fm_advised_all *all)
{
	all->opinion = (struct fm_opinion){ 0 };
	all->look = (struct fm_look){ 0 };
	all->pieces = (struct fm_recent){ 0 };
	all->singles = 0;
	atomic_store(&in_order, false);
}

void fm_advised_leave(struct fm_advised_all *all)
{
	for (unsigned i = 0; i < all->n; i++)
		if (all->v[i].guess)
			end_guess(all, &all->v[i]);
	count_random(all);
}

static void note_unread(struct fm_advised_all *all, uint64_t ms)
{
	all->unread_ms += ms;
	if (all->unread_ms >= FM_SECOND_MS)
		fm_advised_leave(all);
}

static void after_look(struct fm_advised_all *all,
		       const struct fm_advised_use *use)
{
	const uint64_t left = memory_left(all);

	count_random(all);
	fm_streams_ahead(use, left, fm_say_may_be_huge());
	fm_streams_behind(all->bytes, left);
	fm_folios_turn();
	fm_say_huge(all);
	fm_pieces_next_look(&all->pieces);
	all->look = (struct fm_look){ 0 };
}

static bool reads_much(dev_t dev)
{
	const struct fm_device_price d = fm_device_price(dev);
	const struct fm_advice_facts f = { d.read, d.page,
					  fm_readahead_bytes(dev), false, 0 };

	return fm_advice_begins_random(&f);
}

/* By a quarter. */
static bool is_larger(uint64_t bytes, uint64_t memory)
{
	return bytes / 5 > memory / 4;
}

/* What is larger than memory, where a touch reads much ahead. */
static bool begins_random(struct fm_advised_all *all,
			  const struct fm_advised *a)
{
	return is_larger(all->bytes, memory_left(all)) && reads_much(a->dev);
}

/* In mmap: memory is asked for last. */
bool fm_advised_begin_random(dev_t dev)
{
	return !atomic_load(&in_order) && reads_much(dev) &&
	       is_larger(fm_krange_bytes(), fm_memory_left_lately());
}

static int judge_range(struct fm_advised_all *all, struct fm_advised *a,
		      bool other)
{
	if (hear_family(a)) {
		forget_segments(a);
		other = true;
	}
	hear_segments(&all->look, a);
	if (a->guess && !begins_random(all, a)) /* the device is another */
		return end_guess(all, a);
	return fm_say(all, a, advice_choice_wanted, other);
}

static int judge(struct fm_advised_all *all, const struct fm_advised_use *use,
		 unsigned part)
{
	const bool it_fits = advice_choice_fits(all);
	struct fm_costs_of sum;
	bool other;
	int err = 0;

	all->unread_ms = all->idle_ms = 0;
	note_use(&all->look, use, part);
	sum = costs(all, part, it_fits);
	other = hear(&all->opinion, &sum, &all->v[0].facts);
	if (other)
		forget_ranges(all);
	all->doubt = fm_advice_doubts(&all->opinion, &sum);
	for (unsigned i = 0; i < all->n && !err; i++)
		err = judge_range(all, &all->v[i], other);
	return err;
}

int fm_advised_judge(struct fm_advised_all *all,
		     const struct fm_advised_use *use, unsigned part)
{
	int err = 0;

	if (part && all->n)
		err = judge(all, use, part);
	else
		note_unread(all, use->ms);
	age(all);
	after_look(all, use);
	return err;
}

/* ---- the beginning ----------------------------------------------------- */

static int advice_choice_begin(struct fm_advised_all *all, struct fm_advised *a)
{
	enum fm_advice says;
	int err;

	a->begun = true;
	a->facts = (struct fm_advice_facts){
		.read_ns = fm_device_price(a->dev).read
	};
	hear_family(a);
	a->guess = all->opinion.says != FM_ADVICE_NORMAL &&
		   begins_random(all, a);
	if (!a->guess)
		return fm_say(all, a, advice_choice_wanted, false);
	all->unread_ms = 0;
	says = a->opinion.says;
	a->opinion.says = FM_ADVICE_RANDOM;
	err = fm_say(all, a, advice_choice_wanted, false);
	a->opinion.says = (uint8_t)says;
	return err;
}

int fm_advised_begin(struct fm_advised_all *all)
{
	int err = 0;

	for (unsigned i = 0; i < all->n && !err; i++)
		if (!all->v[i].begun)
			err = advice_choice_begin(all, &all->v[i]);
	count_random(all);
	return err;
}

/* ---- nothing is missed any more ----------------------------------------- */

/* It fits after all, as it seems: then what is used often shall keep its place.
 * When that was wrong it takes longer the next time. */
static void all_is_there(struct fm_advised_all *all)
{
	fm_opinion_says(&all->opinion, FM_ADVICE_NORMAL,
			fm_advice_sure(&all->v[0].facts));
	forget_ranges(all);
	for (unsigned i = 0; i < all->n; i++)
		fm_say(all, &all->v[i], advice_choice_wanted, false);
	count_random(all);
}

void fm_advised_quiet(struct fm_advised_all *all,
		      const struct fm_advised_use *use)
{
	note_unread(all, use->ms);
	if (!atomic_load(&fm_advise_counts.random_bytes) ||
	    use->cpu_ms * 4 < use->ms) {
		all->idle_ms = 0;
		return;
	}
	all->idle_ms += use->ms;
	if (all->idle_ms < fm_tune.advised_wait_ms << all->opinion.wrong)
		return;
	all->idle_ms = 0;
	all_is_there(all);
}
