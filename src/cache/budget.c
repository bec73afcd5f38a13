/* SPDX-License-Identifier: MIT */
#include "budget.h"

#include <stddef.h>

#include "base/sys.h"
#include "memory.h"
#include "base/types.h"

/* A share that the user has not fixed shrinks when everybody of this process'
 * group stood still for more than a tenth of a second, and grows again after
 * ten quiet ones; never below half. Our pages are anonymous: the kernel cannot
 * take them as it takes page cache, so we must give. */
#define STALL_US 100000u
#define QUIET_US 1000u
#define QUIET_SECONDS 10
#define LEAST_EIGHTHS 4

/* What others need goes before. */
#define RESERVE 16     /* that part of the limit is left free, and what */
#define REACT_MS 20    /* others take in that time, as fast as lately; */
#define MOST_RESERVE 4 /* not more than that part */
#define LEAST_RESERVE 8 /* that part must not be dirty */
#define OVER_PART 32 /* so much more than it may have it must not hold */
#define GROW_MS 2000u  /* from nothing to the ceiling */
#define LEAST_PART 32 /* that part of the ceiling stays ours, */
#define LEAST_SHARE 4 /* unless it is more than that of what others leave */
#define IDLE_PART 32 /* that part stays free, or who takes memory waits */
#define FAST ((uint64_t)4 << 20) /* bytes a ms that a program may take */
#define SOON_MS 2u
#define IDLE_MS 10u
#define LATE_MS 500u
#define MOST_LATE_MS 250u /* it had been stopped */

/* The share of cache = auto, and when there is too little for any. */
#define TURN_MS 30000u   /* memory that others had in this turn and the last */
#define FOR_LONG 5u      /* balances in a row with too little */
#define MARGIN 8         /* stays free of growth, and that part of the limit */
#define MOST_PERCENT 87u /* see ceiling() */
#define STEP_PERCENT 2u  /* in a tenth of a second */
#define ASIDE 50u        /* percent of all that lazy pages may lie in; */
#define ASIDE_STEP 4u    /* so much less in a balance with stores to them, */
#define ASIDE_CALM 10u   /* and so many without give it a percent back */
#define IDLE_STEP 10u    /* percent, where the memory is nobody's */
#define SHORT_PART 8 /* of the limit, */
#define SHORT ((uint64_t)256 << 20) /* or as much */
#define CALM_MS 5000u /* with twice as much, then it is over */
#define SOME_BACK 32u    /* pages in that time, or nobody lacks anything */
#define MANY_BACK 256u   /* and that surely take a good part of it; */
#define LOOPS 3u         /* balances in a row */
/* The kernel has this part more than others leave to the cache, by what the
 * engine has for itself; what is missing then costs less than the reserve. */
#define NEARLY 16
#define PERHAPS 6 /* and where it is nearly so it is worth a trial */

/* Less than all of the limit, whatever was asked for: the program, its stacks
 * and the kernel's own pages count as well. */
static uint64_t ceiling(const struct fm_budget *b)
{
	uint64_t most = b->limit - b->limit / 8, v = b->wanted;

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
	uint64_t most = least > b->limit / MARGIN ? least - b->limit / MARGIN :
						    0;

	if (!b->base || bytes <= begin)
		return bytes;
	return most < begin || least == UINT64_MAX ? begin :
						     fm_least(bytes, most);
}

static uint64_t settle(struct fm_budget *b)
{
	uint64_t most = grown(b, ceiling(b));
	uint64_t least = fm_least(most / LEAST_PART, b->all / LEAST_SHARE);

	if (b->eighths < 8)
		most = most / 8 * b->eighths;
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
		.eighths = 8,
		.aside = ASIDE,
		.room = UINT64_MAX,
		.soon = UINT64_MAX,
		.all = UINT64_MAX,
		.least = { UINT64_MAX, UINT64_MAX },
		.calm_ms = CALM_MS,
	};
	settle(b);
}

void fm_budget_resize(struct fm_budget *b, uint64_t wanted, uint32_t percent)
{
	b->wanted = wanted;
	b->percent = percent;
	b->base = 0;
	b->room = b->soon = UINT64_MAX;
	b->hungry = b->loops = b->fast = 0;
	settle(b);
}

/* Others leave less than it may have. */
static bool lacks_room(const struct fm_budget *b)
{
	return b->room < grown(b, ceiling(b));
}

static void feel_pressure(struct fm_budget *b, uint64_t stall)
{
	if (stall > STALL_US) {
		b->quiet = 0;
		if (b->eighths > LEAST_EIGHTHS)
			b->eighths--;
	} else if (stall > QUIET_US) {
		b->quiet = 0;
	} else if (++b->quiet >= QUIET_SECONDS && b->eighths < 8) {
		b->quiet = 0;
		b->eighths++;
	}
}

static uint64_t reserve(const struct fm_budget *b)
{
	return fm_least(b->limit / RESERVE +
				(REACT_MS + b->late_ms) * b->rate,
			b->limit / MOST_RESERVE);
}

/* Others that take most of the memory may take the rest of it at once: then
 * half of that lies where the kernel can take it, whatever it costs. */
static uint32_t aside(const struct fm_budget *b, uint64_t all)
{
	return all < b->limit / 2 ? ASIDE : b->aside;
}

static uint64_t beyond(uint64_t left, uint64_t reserved)
{
	return left > reserved ? left - reserved : 0;
}

uint64_t fm_budget_step(struct fm_budget *b, uint64_t limit,
			const struct fm_stalled *now)
{
	uint64_t stall = now->us - b->stalled_us;

	/* The first look has nothing to compare with. Of the whole machine that
	 * of other groups is no word of this one, unless memory is what lacks
	 * here, too. */
	if (b->base && b->stalled_us && now->us >= b->stalled_us)
		feel_pressure(b, now->own || lacks_room(b) ? stall : 0);
	b->stalled_us = now->us;
	b->limit = limit;
	b->rate -= b->rate / 4;
	b->late_ms -= (b->late_ms + 3) / 4;
	return settle(b);
}

void fm_budget_auto(struct fm_budget *b)
{
	b->base = b->percent;
}

/* Pages come back though there is memory that neither lazy pages nor others
 * have: those that leave cannot be lazy. */
static bool idles(const struct fm_budget *b)
{
	return b->grown && b->idle > reserve(b) + b->limit / IDLE_PART;
}

static void raise_share(struct fm_budget *b)
{
	uint32_t step = STEP_PERCENT;

	if (idles(b)) {
		b->aside -= (b->aside + 1) / 2;
		step = IDLE_STEP;
	}
	b->percent = (uint32_t)fm_least(b->percent + step, MOST_PERCENT);
}

static void lower_share(struct fm_budget *b)
{
	if (b->percent > b->base + STEP_PERCENT)
		b->percent -= STEP_PERCENT;
	else
		b->percent = b->base;
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
	if (new_theirs > new_ours && new_theirs > SOME_BACK)
		lower_share(b);
	else if (new_ours > 2 * new_theirs && new_ours > SOME_BACK && full)
		raise_share(b);
	/* What is in use as it is does not go back to be idle. */
	if (full && b->idle > b->lazy)
		b->calm = 0;
	return settle(b);
}

void fm_budget_stores(struct fm_budget *b, uint64_t stores)
{
	uint64_t n = stores - b->stores;

	b->stores = stores;
	if (n > SOME_BACK)
		b->aside -= b->aside < ASIDE_STEP ? b->aside : ASIDE_STEP;
	else if (!n && b->aside < ASIDE && !(++b->calm % ASIDE_CALM))
		b->aside++;
}

bool fm_budget_starves(struct fm_budget *b, uint64_t evicted)
{
	bool little = b->room < b->limit / FM_TOO_LITTLE &&
		      b->room < ceiling(b) / 2;

	b->hungry = little && evicted - b->evicted > SOME_BACK ?
			    b->hungry + 1 : 0;
	b->evicted = evicted;
	if (b->hungry < FOR_LONG)
		return false;
	b->hungry = 0;
	b->scarce = true;
	b->scarce_ms = b->at_ms;
	return true;
}

/* As far as the ghosts tell: of pages that come back a quarter and more has
 * been overwritten by others' ghosts where lazy pages double what is there. */
static bool nearly_all(uint64_t back, uint64_t evicted)
{
	return back > SOME_BACK && back > evicted / 8 * 5;
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
	bool all_back = nearly_all(back, evicted);

	b->flow = *flow;
	if (!b->base || b->all == UINT64_MAX || !all_back || !b->grown ||
	    (idles(b) && b->percent < MOST_PERCENT) ||
	    held + b->lazy + gone > and_a(PERHAPS, b->all)) {
		b->loops = b->fast = 0;
		return FM_LOOPS_NOT;
	}
	b->fast = back > MANY_BACK ? b->fast + 1 : 0;
	if (++b->loops % LOOPS)
		return FM_LOOPS_NOT;
	return mapped > and_a(NEARLY, b->all) || b->fast < LOOPS ?
		       FM_LOOPS_PERHAPS : FM_LOOPS_SURELY;
}

bool fm_budget_short(const struct fm_budget *b)
{
	return b->scarce;
}

/* Dirty pages are of no use to who needs memory now. */
uint64_t fm_budget_dirty(const struct fm_budget *b)
{
	return b->all == UINT64_MAX ?
		       0 : beyond(b->all, b->limit / MOST_RESERVE);
}

static bool cannot_shrink(const struct fm_budget *b, uint64_t held,
			  uint64_t dirty)
{
	return dirty > held / 2 && beyond(held, b->now) > b->limit / OVER_PART;
}

bool fm_budget_drowns(const struct fm_budget *b, uint64_t held, uint64_t dirty)
{
	return b->all != UINT64_MAX &&
	       (dirty > beyond(b->all, b->limit / LEAST_RESERVE) ||
		cannot_shrink(b, held, dirty));
}

bool fm_budget_used(const struct fm_budget *b, uint64_t evicted)
{
	return evicted != b->evicted;
}

/* Before a program that takes memory as fast as it can be zeroed has taken half
 * of what is free; less often while nothing changes. */
static unsigned next_look(const struct fm_budget *b, uint64_t left,
			  uint64_t spare)
{
	uint64_t small = b->limit / 256, ms = spare / 2 / FAST;
	bool same = left + small > b->left && left < b->left + small;
	uint64_t idle = same ? 2 * b->pause_ms : 0;

	idle = idle < IDLE_MS ? idle : IDLE_MS;
	ms = ms > idle ? ms : idle;
	ms = ms > b->late_ms ? ms - b->late_ms : 0;
	return ms < SOON_MS ? SOON_MS : ms > LATE_MS ? LATE_MS : (unsigned)ms;
}

/* How fast others took memory at most, lately. */
static void feel_rate(struct fm_budget *b, uint64_t all, uint64_t ms)
{
	uint64_t taken = b->all > all && b->all <= b->limit ? b->all - all : 0;

	if (b->rate < taken / ms)
		b->rate = taken / ms;
	b->all = all;
}

static void feel_least(struct fm_budget *b, uint64_t all, uint64_t now_ms)
{
	if (now_ms - b->turn_ms > TURN_MS) {
		b->turn_ms = now_ms;
		b->least[1] = b->least[0];
		b->least[0] = all;
	}
	b->least[0] = fm_least(b->least[0], all);
}

/* A program that takes memory in bursts leaves enough between them. */
static void feel_short(struct fm_budget *b, uint64_t now_ms)
{
	uint64_t least = fm_least(b->limit / SHORT_PART, SHORT);

	if (b->all < least)
		b->scarce = true;
	if (b->all < 2 * least)
		b->scarce_ms = now_ms;
	if (now_ms - b->scarce_ms >= b->calm_ms)
		b->scarce = false;
}

void fm_budget_late(struct fm_budget *b, uint64_t ms)
{
	ms = fm_least(ms, MOST_LATE_MS);
	if (b->late_ms < ms)
		b->late_ms = ms;
}

uint64_t fm_budget_room(struct fm_budget *b, uint64_t left, uint64_t held,
			uint64_t now_ms)
{
	uint64_t all = left > UINT64_MAX - held ? UINT64_MAX : left + held;
	uint64_t ms = now_ms > b->at_ms ? now_ms - b->at_ms : 1;
	uint64_t more = ms < GROW_MS ? ceiling(b) * ms / GROW_MS : ceiling(b);
	uint64_t free, spare;

	feel_rate(b, all, ms);
	feel_least(b, all, now_ms);
	feel_short(b, now_ms);
	free = reserve(b);
	b->pause_ms = next_look(b, left, beyond(left, free));
	/* Where lazy pages lie in it, a large reserve costs next to nothing. */
	if (b->most_lazy && free < all / 100 * aside(b, all))
		free = all / 100 * aside(b, all);
	spare = beyond(left, free);
	b->left = left;
	b->at_ms = now_ms;
	all = beyond(all, free);
	b->grown = b->room > all - fm_least(all, more);
	b->room = b->grown ? all : b->room + more;
	b->soon = all - spare / 2;
	return settle(b);
}

uint64_t fm_budget_lazy(struct fm_budget *b, uint64_t lazy, uint64_t free)
{
	uint64_t idle = b->limit / IDLE_PART;

	b->lazy = lazy;
	b->idle = free == UINT64_MAX ? 0 : free;
	if (free == UINT64_MAX || lazy + free < idle)
		return 0;
	return fm_least(lazy + free - idle, b->most_lazy);
}

void fm_budget_most_lazy(struct fm_budget *b, uint64_t bytes)
{
	b->most_lazy = bytes;
}
