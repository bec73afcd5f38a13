/* SPDX-License-Identifier: MIT */
#include "budget.h"

#include <stddef.h>

#include "base/life.h"
#include "base/sys.h"
#include "base/types.h"
#include "tunables.h"

/* What others may take before it is noticed. */
static uint64_t margin(const struct fm_budget *b)
{
	return b->limit / fm_tune.budget_margin;
}

/* Stays free for others at any time, but for what they take fast. */
static uint64_t least_reserve(const struct fm_budget *b)
{
	return b->limit / fm_tune.budget_reserve;
}

/* Less than all of the limit, whatever was asked for: the program, its stacks
 * and the kernel's own pages count as well. */
static uint64_t ceiling(const struct fm_budget *b)
{
	uint64_t most = b->limit - margin(b), v = b->wanted;

	if (b->percent)
		v = b->limit / 100 * b->percent;
	return fm_least(v, most);
}

/* Beyond where it began it does not take what others may take again, nor what
 * nobody tells of (no /proc). */
static uint64_t grown(const struct fm_budget *b, uint64_t bytes)
{
	uint64_t least = fm_least(b->least[0], b->least[1]);
	uint64_t begin = b->limit / 100 * b->base;
	uint64_t most = least > margin(b) ? least - margin(b) : 0;

	if (!b->base || bytes <= begin)
		return bytes;
	return most < begin || least == UINT64_MAX ? begin :
						     fm_least(bytes, most);
}

static uint64_t budget_settle(struct fm_budget *b)
{
	uint64_t most = grown(b, ceiling(b));
	/* As much as half a reserve stays ours, if others leave it. */
	uint64_t least = fm_least(most / (2 * fm_tune.budget_reserve),
				  b->all / fm_tune.budget_margin);

	b->target = fm_least(most, b->room > least ? b->room : least);
	b->now = fm_least(b->target, b->soon > least ? b->soon : least);
	return b->now;
}

void fm_budget_init(struct fm_budget *b, uint64_t wanted, uint32_t percent,
		    uint64_t limit)
{
	*b = (struct fm_budget){
		.wanted = wanted,
		.percent = percent,
		.limit = limit,
		.aside = fm_tune.budget_aside,
		.room = UINT64_MAX,
		.theirs_left = UINT64_MAX,
		.soon = UINT64_MAX,
		.all = UINT64_MAX,
		.least = { UINT64_MAX, UINT64_MAX },
		.calm_ms = FM_SECOND_MS,
	};
	budget_settle(b);
}

void fm_budget_resize(struct fm_budget *b, uint64_t wanted, uint32_t percent)
{
	b->wanted = wanted;
	b->percent = percent;
	b->base = 0;
	b->room = b->theirs_left = b->soon = UINT64_MAX;
	b->hungry = b->loops = 0;
	b->lacks = false;
	budget_settle(b);
}

static uint64_t reserve(const struct fm_budget *b)
{
	return fm_least(least_reserve(b) +
				(fm_tune.budget_react_ms + b->late_ms) *
					b->rate,
			2 * margin(b));
}

/* Others that take most of the memory may take the rest of it at once: then
 * half of that lies where the kernel can take it, whatever it costs. */
static uint32_t aside(const struct fm_budget *b, uint64_t all)
{
	return all < b->limit / 2 ? fm_tune.budget_aside : b->aside;
}

static uint64_t budget_beyond(uint64_t left, uint64_t reserved)
{
	return left > reserved ? left - reserved : 0;
}

uint64_t fm_budget_step(struct fm_budget *b, uint64_t limit)
{
	b->limit = limit;
	return budget_settle(b);
}

void fm_budget_auto(struct fm_budget *b)
{
	b->base = b->percent;
}

/* Pages come back though there is memory that neither lazy pages nor others
 * have: those that leave cannot be lazy. */
static bool idles(const struct fm_budget *b)
{
	return b->grown &&
	       b->idle > reserve(b) + least_reserve(b) / 2;
}

/* In percent of the limit: the margin stays free. */
static uint32_t most_share(void)
{
	return 100 * (fm_tune.budget_margin - 1) / fm_tune.budget_margin;
}

/* Percent in a balance. */
static uint32_t usual_step(void)
{
	return 100 * fm_tune.budget_balance_ms / fm_tune.budget_grow_ms;
}

static void set_less_aside(struct fm_budget *b)
{
	b->aside -= (b->aside + 1) / 2;
}

/* Of what is nobody's it takes half at once. */
static void raise_share(struct fm_budget *b)
{
	uint32_t step = usual_step();

	if (b->not_lazy)
		set_less_aside(b);
	if (idles(b)) {
		set_less_aside(b);
		step += (uint32_t)(100 * (b->idle - reserve(b)) / b->limit / 2);
	}
	b->percent = (uint32_t)fm_least(b->percent + step, most_share());
}

static void lower_share(struct fm_budget *b)
{
	uint32_t step = usual_step();

	b->percent = b->percent > b->base + step ? b->percent - step : b->base;
}

uint64_t fm_budget_balance(struct fm_budget *b, uint64_t held, uint64_t ours,
			   uint64_t theirs)
{
	uint64_t new_ours = ours - b->ours, new_theirs = theirs - b->theirs;
	bool first = !b->ours && !b->theirs;
	bool full = held >= b->now - b->now / 8;

	b->ours = ours;
	b->theirs = theirs;
	if (!b->base || first)
		return b->now;
	if (new_theirs > new_ours && new_theirs > fm_tune.budget_some) {
		lower_share(b);
		b->lacks = false;
	} else if (new_ours > 2 * new_theirs &&
		   new_ours > fm_tune.budget_some && full) {
		raise_share(b);
		b->lacks = true;
	}
	/* What is in use as it is does not go back to be idle. */
	if (full && b->idle > b->lazy)
		b->calm = 0;
	return budget_settle(b);
}

/* After each second without any. */
static void set_more_aside(struct fm_budget *b)
{
	if (++b->calm * fm_tune.budget_balance_ms < FM_SECOND_MS)
		return;
	b->calm = 0;
	b->aside++;
}

void fm_budget_stores(struct fm_budget *b, uint64_t stores)
{
	uint64_t n = stores - b->stores;

	b->stores = stores;
	if (n > fm_tune.budget_some)
		set_less_aside(b);
	else if (!n && !b->not_lazy && b->aside < fm_tune.budget_aside)
		set_more_aside(b);
}

void fm_budget_left(struct fm_budget *b, uint64_t firm, uint64_t may)
{
	const uint64_t new_firm = firm - b->firm, new_may = may - b->may;

	b->firm = firm;
	b->may = may;
	if (new_firm + new_may > fm_tune.budget_some)
		b->not_lazy = new_firm > new_may;
}

bool fm_budget_starves(struct fm_budget *b, uint64_t evicted)
{
	bool little = b->room < least_reserve(b) &&
		      b->room < ceiling(b) / 2;

	b->hungry = little && evicted - b->evicted > fm_tune.budget_some ?
			    b->hungry + 1 :
			    0;
	b->evicted = evicted;
	if (b->hungry < fm_tune.budget_row)
		return false;
	b->hungry = 0;
	b->scarce = true;
	b->scarce_ms = b->at_ms;
	return true;
}

/* As far as the ghosts tell: of pages that come back a quarter and more has
 * been overwritten by others' ghosts where lazy pages double what is there. */
static bool budget_nearly_all(uint64_t back, uint64_t evicted)
{
	return back > fm_tune.budget_some && back > evicted / 8 * 5;
}

static uint64_t and_a(unsigned part, uint64_t bytes)
{
	return bytes + bytes / part;
}

enum fm_loops fm_budget_loops(struct fm_budget *b, const struct fm_flow *flow,
		     uint64_t held, uint64_t mapped)
{
	uint64_t back = flow->back - b->flow.back;
	uint64_t evicted = flow->evicted - b->flow.evicted;
	uint64_t away = flow->away - b->flow.away;
	uint64_t gone = back ? away / back * FM_PAGE : 0;
	bool all_back = budget_nearly_all(back, evicted);

	b->flow = *flow;
	if (!b->base || b->all == UINT64_MAX || !all_back || !b->grown ||
	    (idles(b) && b->percent < most_share()) ||
	    held + b->lazy + gone > and_a(fm_tune.budget_margin, b->all)) {
		b->loops = 0;
		return FM_LOOPS_NOT;
	}
	if (++b->loops % fm_tune.budget_row)
		return FM_LOOPS_NOT;
	return mapped > and_a(fm_tune.serve_nearly, b->all) ? FM_LOOPS_PERHAPS :
							      FM_LOOPS_SURELY;
}

bool fm_budget_short(const struct fm_budget *b)
{
	return b->scarce;
}

/* Dirty pages are of no use to who needs memory now. */
uint64_t fm_budget_dirty(const struct fm_budget *b)
{
	return b->all == UINT64_MAX ?
		       0 :
		       budget_beyond(b->all, 2 * margin(b));
}

static bool cannot_shrink(const struct fm_budget *b, uint64_t held,
			  uint64_t dirty)
{
	return dirty > held / 2 &&
	       budget_beyond(held, b->now) > least_reserve(b) / 2;
}

bool fm_budget_drowns(const struct fm_budget *b, uint64_t held, uint64_t dirty)
{
	return b->all != UINT64_MAX &&
	       (dirty > budget_beyond(b->all, margin(b)) ||
		cannot_shrink(b, held, dirty));
}

bool fm_budget_used(const struct fm_budget *b, uint64_t evicted)
{
	return evicted != b->evicted;
}

/*
 * Before a program that takes memory as fast as it can be zeroed has taken half
 * of what is free; less often while nothing changes. While nothing of ours does
 * either that is all that counts, by and by.
 *
 * Seldom while we have nothing to make room with. A look costs all in the
 * group: to read memory.stat brings the counts up to date by which the kernel
 * judges what comes back (mm/workingset.c), and it keeps more of a scan then
 * than by old ones.
 */
static unsigned next_look(const struct fm_budget *b, uint64_t left,
			  uint64_t spare)
{
	uint64_t small = b->limit / 256, ms = spare / 2 / fm_tune.budget_fast;
	bool same = left + small > b->left && left < b->left + small;
	uint64_t idle = same ? 2 * b->pause_ms : 0;
	uint64_t most = b->rests && idle > FM_SECOND_MS ? idle : FM_SECOND_MS;

	if (b->nothing)
		return (unsigned)most;
	idle = idle < fm_tune.budget_rest_ms ? idle : fm_tune.budget_rest_ms;
	ms = ms > idle ? ms : idle;
	ms = ms > b->late_ms ? ms - b->late_ms : 0;
	ms = ms > fm_tune.budget_soon_ms ? ms : fm_tune.budget_soon_ms;
	return (unsigned)fm_least(ms, most);
}

/* Within less the kernel's counting, which is by the batch, would pass for the
 * haste of others. */
static uint64_t rate_ms(void)
{
	return fm_tune.budget_react_ms / 2;
}

static void note_peak(struct fm_budget *b, uint64_t all, uint64_t now_ms)
{
	if (now_ms - b->peak_ms >= rate_ms()) {
		b->peak_ms = now_ms;
		b->peak[1] = b->peak[0];
		b->peak[0] = 0;
	}
	if (all <= b->limit && b->peak[0] < all)
		b->peak[0] = all;
}

/* How fast others took memory at most, lately: where looks are frequent, from
 * the last two peaks, so that none begins in the middle of what they take. */
static void feel_rate(struct fm_budget *b, uint64_t all, uint64_t ms,
		      uint64_t now_ms)
{
	const uint64_t least = rate_ms();
	const uint64_t before = ms < least ? b->peak[1] : 0;
	const uint64_t peak = b->peak[0] > before ? b->peak[0] : before;
	const uint64_t rate =
		budget_beyond(peak, all) / (ms > least ? ms : least);

	if (b->rate < rate)
		b->rate = rate;
	note_peak(b, all, now_ms);
	b->all = all;
}

static void feel_least(struct fm_budget *b, uint64_t all, uint64_t now_ms)
{
	if (now_ms - b->turn_ms > fm_tune.budget_turn_ms) {
		b->turn_ms = now_ms;
		b->least[1] = b->least[0];
		b->least[0] = all;
	}
	b->least[0] = fm_least(b->least[0], all);
}

static uint64_t short_below(uint64_t limit)
{
	return fm_least(limit / fm_tune.budget_margin,
			fm_tune.budget_short_most);
}

bool fm_budget_begins(uint64_t limit, uint64_t left)
{
	const uint64_t price = fm_tune.budget_price;

	return left / 4 >= price && left - price >= short_below(limit);
}

/* A program that takes memory in bursts leaves enough between them. */
static void feel_short(struct fm_budget *b, uint64_t now_ms)
{
	uint64_t least = short_below(b->limit);

	if (b->all < least)
		b->scarce = true;
	if (b->all < 2 * least)
		b->scarce_ms = now_ms;
	if (now_ms - b->scarce_ms >= b->calm_ms)
		b->scarce = false;
}

/* What was seen of others' pace. */
static void budget_age(struct fm_budget *b, uint64_t now_ms)
{
	if (now_ms - b->aged_ms < FM_SECOND_MS)
		return;
	b->aged_ms = now_ms;
	b->rate -= b->rate / 4;
	b->late_ms -= (b->late_ms + 3) / 4;
}

void fm_budget_late(struct fm_budget *b, uint64_t ms)
{
	if (ms <= FM_SECOND_MS && b->late_ms < ms)
		b->late_ms = ms;
}

uint64_t fm_budget_room(struct fm_budget *b, uint64_t left, uint64_t held,
			uint64_t now_ms)
{
	uint64_t all = left > UINT64_MAX - held ? UINT64_MAX : left + held;
	uint64_t ms = now_ms > b->at_ms ? now_ms - b->at_ms : 1;
	uint64_t more = ms < fm_tune.budget_grow_ms ?
				ceiling(b) * ms / fm_tune.budget_grow_ms :
				ceiling(b);
	uint64_t free, spare;

	feel_rate(b, all, ms, now_ms);
	feel_least(b, all, now_ms);
	feel_short(b, now_ms);
	free = reserve(b);
	b->theirs_left = fm_least(b->theirs_left, UINT64_MAX - more) + more;
	b->theirs_left = fm_least(b->theirs_left, budget_beyond(all, free));
	b->pause_ms = next_look(b, left, budget_beyond(left, free));
	/* Where lazy pages lie in it, a large reserve costs next to nothing. */
	if (b->most_lazy && free < all / 100 * aside(b, all))
		free = all / 100 * aside(b, all);
	spare = budget_beyond(left, free);
	b->left = left;
	b->at_ms = now_ms;
	all = budget_beyond(all, free);
	b->room = fm_least(b->theirs_left, all);
	b->grown = all - b->room <= fm_budget_wobble(all);
	b->soon = all - spare / 2;
	budget_age(b, now_ms);
	return budget_settle(b);
}

/* Page cache that nobody has missed for longer than our pages goes first: both
 * are in one list of the kernel's. Little of it is not worth that the program
 * waits for the kernel to find it. What the kernel has taken of our pages is
 * still counted, so what is not the cache's bounds it. */
static uint64_t lazy_among_page_cache(const struct fm_budget *b)
{
	const uint64_t page_cache = budget_beyond(b->left, b->lazy + b->idle);

	return b->lacks && b->all != UINT64_MAX &&
			       page_cache > least_reserve(b) ?
		       budget_beyond(b->all, b->now) : 0;
}

uint64_t fm_budget_lazy(struct fm_budget *b, uint64_t lazy, uint64_t free)
{
	const uint64_t idle = least_reserve(b) / 2;
	uint64_t most, among;

	b->lazy = lazy;
	b->idle = free == UINT64_MAX ? 0 : free;
	if (free == UINT64_MAX)
		return 0;
	most = budget_beyond(lazy + free, idle);
	among = lazy_among_page_cache(b);
	return fm_least(most > among ? most : among, b->most_lazy);
}

void fm_budget_most_lazy(struct fm_budget *b, uint64_t bytes)
{
	b->most_lazy = bytes;
}
