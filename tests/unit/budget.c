/* SPDX-License-Identifier: MIT */
/* The cache's size under changing limits and memory pressure. */
#include "unit.h"

#include "cache/budget.h"

#define GIB (1ull << 30)

static void percent_follows_the_limit(void **state)
{
	struct fm_budget b;

	fm_budget_init(&b, 4 * GIB, 50, 8 * GIB);
	assert_true(b.now == 8 * GIB / 100 * 50);
	assert_true(fm_budget_step(&b, 2 * GIB) <= GIB);
	assert_true(fm_budget_step(&b, 8 * GIB) > 4 * GIB - (1 << 20));
}

static void fixed_stays_below_the_limit(void **state)
{
	struct fm_budget b;

	fm_budget_init(&b, 4 * GIB, 0, 16 * GIB);
	assert_true(b.now == 4 * GIB);
	assert_true(fm_budget_step(&b, 2 * GIB) == 2 * GIB / 8 * 7);
	assert_true(fm_budget_step(&b, 16 * GIB) == 4 * GIB);
}

#define MIB (1ull << 20)

/* At the first look. */
static uint64_t room(uint64_t left, uint64_t held)
{
	struct fm_budget b;

	fm_budget_init(&b, 0, 50, GIB);
	return fm_budget_room(&b, left, held, 1000);
}

static void others_come_first(void **state)
{
	/* 700 MiB can be had, 300 are ours: nothing to do. */
	assert_true(room(700 * MIB, 300 * MIB) == GIB / 100 * 50);
	/* 100 can be had besides our 400, 1/16 of all stays free, and half of
	 * the rest is for others until the next look. */
	assert_true(room(100 * MIB, 400 * MIB) == 418 * MIB);
	assert_true(room(64 * MIB, 436 * MIB) == 436 * MIB);
	assert_true(room(0, 300 * MIB) == 236 * MIB);
	/* Never nothing: an eighth of what there is. */
	assert_true(room(0, 72 * MIB) == 9 * MIB);
	assert_true(room(0, 10 * MIB) == 10 * MIB / 8);
}

static void room_comes_back_by_and_by(void **state)
{
	struct fm_budget b;
	uint64_t last, now;

	fm_budget_init(&b, 0, 50, GIB);
	last = fm_budget_room(&b, 0, 100 * MIB, 1000);
	assert_true(last == 36 * MIB);
	for (uint64_t ms = 1100; ms <= 2500; ms += 100) {
		now = fm_budget_room(&b, 900 * MIB, 36 * MIB, ms);
		assert_true(now > last && now - last <= GIB / 40);
		last = now;
	}
	assert_true(fm_budget_room(&b, 700 * MIB, 236 * MIB, 6600) ==
		    GIB / 100 * 50);
}

static void looks_more_often_when_little_is_left(void **state)
{
	struct fm_budget b;
	unsigned calm;

	fm_budget_init(&b, 0, 50, GIB);
	fm_budget_room(&b, 900 * MIB, 0, 1000);
	calm = b.pause_ms;
	fm_budget_room(&b, 300 * MIB, 600 * MIB, 1100);
	assert_true(b.pause_ms < calm);
	fm_budget_room(&b, 64 * MIB, 836 * MIB, 1200);
	assert_int_equal(b.pause_ms, 2);
	for (int k = 0; k < 8; k++)
		fm_budget_room(&b, 64 * MIB, 836 * MIB, 1200);
	assert_int_equal(b.pause_ms, 10); /* nothing changes */
	fm_budget_room(&b, 32 * MIB, 836 * MIB, 1300);
	assert_int_equal(b.pause_ms, 2);
}

/* A look costs others more than it can help them. */
static void looks_seldom_while_it_has_nothing(void **state)
{
	struct fm_budget b;

	fm_budget_init(&b, 0, 50, GIB);
	b.nothing = true;
	fm_budget_room(&b, 64 * MIB, 0, 1000);
	assert_int_equal(b.pause_ms, 1000);
	b.nothing = false;
	fm_budget_room(&b, 64 * MIB, 0, 2000);
	assert_in_range(b.pause_ms, 1, 100);
}

/* What can be taken before the next look is acted upon stays free. */
static void more_stays_free_for_who_is_fast(void **state)
{
	struct fm_budget b;

	fm_budget_init(&b, 0, 50, GIB);
	fm_budget_room(&b, 300 * MIB, 400 * MIB, 1000);
	/* 40 MiB in 10 ms: 64 and 20 times 4 stay free. */
	assert_true(fm_budget_room(&b, 112 * MIB, 548 * MIB, 1010) ==
		    GIB / 100 * 50);
	assert_true(fm_budget_room(&b, 112 * MIB, 488 * MIB, 1110) ==
		    456 * MIB);
	assert_true(fm_budget_room(&b, 82 * MIB, 488 * MIB, 1210) ==
		    426 * MIB);
	for (uint64_t second = 0; second < 40; second++)
		fm_budget_room(&b, 82 * MIB, 488 * MIB, 2210 + 1000 * second);
	assert_true(b.rate < MIB / 16);
}

/* However often memory is looked at. */
static void less_stays_free_when_others_rest(void **state)
{
	struct fm_budget b;

	fm_budget_init(&b, 0, 50, GIB);
	fm_budget_room(&b, 300 * MIB, 400 * MIB, 1000);
	fm_budget_room(&b, 260 * MIB, 400 * MIB, 1010);
	assert_true(b.rate == 4 * MIB);
	for (uint64_t ms = 1020; ms < 9000; ms += 10)
		fm_budget_room(&b, 260 * MIB, 400 * MIB, ms);
	assert_true(b.rate < MIB);
}

/* A group's pages are counted by 64 on each CPU. */
static void counting_by_the_batch_is_no_haste(void **state)
{
	struct fm_budget b;

	fm_budget_init(&b, 0, 50, 32 * MIB);
	for (uint64_t ms = 1000; ms < 3000; ms += 2)
		fm_budget_room(&b, (ms % 4 ? 14 : 15) * MIB - 512, 14 * MIB,
			       ms);
	assert_true(b.rate <= MIB / 10);
}

/* Not if it begins just before a look, nor if two looks halve it. */
static void a_burst_is_haste(void **state)
{
	for (uint64_t at = 1000; at < 1020; at++) {
		struct fm_budget b;
		uint64_t left = 300 * MIB;

		fm_budget_init(&b, 0, 50, GIB);
		for (uint64_t ms = 1000; ms < 1100; ms += 2) {
			if (ms >= at && ms < at + 20)
				left -= 8 * MIB;
			fm_budget_room(&b, left, 400 * MIB, ms);
		}
		assert_true(b.rate >= 4 * MIB);
	}
}

static void who_grows_is_as_fast_as_he_grows(void **state)
{
	struct fm_budget b;

	fm_budget_init(&b, 0, 50, GIB);
	for (uint64_t i = 0; i < 10; i++)
		fm_budget_room(&b, (300 - 10 * i) * MIB, 400 * MIB,
			       1000 + 100 * i);
	assert_true(b.rate == 10 * MIB / 100);
}

static void more_stays_free_when_looks_come_late(void **state)
{
	struct fm_budget b;

	fm_budget_init(&b, 0, 50, GIB);
	fm_budget_room(&b, 300 * MIB, 400 * MIB, 1000);
	fm_budget_room(&b, 280 * MIB, 400 * MIB, 1010); /* 2 MiB a ms */
	assert_int_equal(b.pause_ms, 22);
	fm_budget_late(&b, 15);
	/* 64 and 35 times 2 stay free, and the look comes sooner. */
	assert_true(fm_budget_room(&b, 134 * MIB, 400 * MIB, 2010) ==
		    400 * MIB);
	assert_int_equal(b.pause_ms, 2);
	for (uint64_t second = 0; second < 20; second++)
		fm_budget_room(&b, 134 * MIB, 400 * MIB, 3010 + 1000 * second);
	assert_int_equal(b.late_ms, 0);
}

/* Begins at half; looked at once, for the totals. */
static struct fm_budget automatic(void)
{
	struct fm_budget b;

	fm_budget_init(&b, 0, 50, GIB);
	fm_budget_auto(&b);
	fm_budget_room(&b, GIB, b.now, 1);
	fm_budget_balance(&b, b.now, 1000, 100000);
	return b;
}

static void grows_while_its_pages_come_back(void **state)
{
	struct fm_budget b = automatic(), fixed;
	uint64_t before = b.now;

	assert_true(before == GIB / 100 * 50);
	assert_true(fm_budget_balance(&b, b.now, 1010, 100000) == before);
	assert_true(fm_budget_balance(&b, b.now, 1400, 100000) ==
		    GIB / 100 * 52);
	/* It has not used what it has. */
	assert_true(fm_budget_balance(&b, b.now / 2, 1800, 100000) ==
		    GIB / 100 * 52);
	for (uint64_t k = 0; k < 50; k++)
		fm_budget_balance(&b, b.now, 2200 + 400 * k, 100000);
	assert_true(b.now <= GIB / 8 * 7 && b.now > GIB / 100 * 84);
	fm_budget_init(&fixed, 0, 50, GIB);
	fm_budget_balance(&fixed, fixed.now, 1000, 100000);
	assert_true(fm_budget_balance(&fixed, fixed.now, 9000, 100000) ==
		    before);
}

static void does_not_grow_blindly(void **state)
{
	struct fm_budget b;

	fm_budget_init(&b, 0, 50, GIB);
	fm_budget_auto(&b);
	for (uint64_t k = 1; k < 50; k++) {
		fm_budget_room(&b, UINT64_MAX, b.now, 1000 + 100 * k);
		fm_budget_balance(&b, b.now, 400 * k, 0);
	}
	assert_true(b.now == GIB / 100 * 50);
}

static void page_cache_takes_it_back(void **state)
{
	struct fm_budget b = automatic();
	uint64_t ours = 1000, theirs = 100000;

	for (int k = 0; k < 50; k++)
		fm_budget_balance(&b, b.now, ours += 400, theirs);
	assert_true(b.now > GIB / 100 * 84);
	/* As much as ours: neither. */
	assert_true(fm_budget_balance(&b, b.now, ours += 400, theirs += 300) >
		    GIB / 100 * 84);
	for (int k = 0; k < 50; k++)
		fm_budget_balance(&b, b.now, ours += 400, theirs += 500);
	assert_true(b.now == GIB / 100 * 50);
}

static void starves_when_too_little_is_left_for_long(void **state)
{
	struct fm_budget b = automatic();
	uint64_t evicted = 1000;

	for (int k = 0; k < 20; k++)
		assert_false(fm_budget_starves(&b, evicted += 100));
	/* 36 besides the reserve */
	fm_budget_room(&b, 40 * MIB, 60 * MIB, 1000);
	for (int k = 0; k < 4; k++)
		assert_false(fm_budget_starves(&b, evicted += 100));
	assert_true(fm_budget_starves(&b, evicted += 100));
	for (int k = 0; k < 4; k++)
		assert_false(fm_budget_starves(&b, evicted += 100));
	assert_false(fm_budget_starves(&b, evicted)); /* not used */
	/* A cache that is to be as small as that does not starve. */
	fm_budget_init(&b, 32 * MIB, 0, GIB);
	fm_budget_room(&b, 40 * MIB, 60 * MIB, 1000);
	for (int k = 0; k < 20; k++)
		assert_false(fm_budget_starves(&b, evicted += 100));
}

/* Not even half a second. */
static void is_short_at_once(void **state)
{
	struct fm_budget b = automatic();

	assert_false(fm_budget_short(&b));
	fm_budget_room(&b, 120 * MIB, 10 * MIB, 1000);
	assert_false(fm_budget_short(&b));
	fm_budget_room(&b, 110 * MIB, 10 * MIB, 1010);
	assert_true(fm_budget_short(&b));
	fm_budget_starves(&b, 1000);
	assert_false(fm_budget_used(&b, 1000));
	assert_true(fm_budget_used(&b, 1001));
}

/* Who takes memory in bursts leaves enough between two of them. */
static void is_short_until_it_is_calm(void **state)
{
	struct fm_budget b = automatic();
	uint64_t ms = 1000;

	b.calm_ms = 5000;
	fm_budget_room(&b, 110 * MIB, 10 * MIB, ms);
	for (; ms < 9000; ms += 100) { /* more, but not twice as much */
		fm_budget_room(&b, 240 * MIB, 10 * MIB, ms);
		assert_true(fm_budget_short(&b));
	}
	for (; ms < 13800; ms += 100) {
		fm_budget_room(&b, 300 * MIB, 10 * MIB, ms);
		assert_true(fm_budget_short(&b));
	}
	fm_budget_room(&b, 300 * MIB, 10 * MIB, ms + 200);
	assert_false(fm_budget_short(&b));
	fm_budget_room(&b, 240 * MIB, 10 * MIB, ms + 300);
	assert_false(fm_budget_short(&b));
}

/* What they had comes back to them at once, but for how long is not known. */
static void does_not_grow_into_what_others_had(void **state)
{
	struct fm_budget b = automatic();
	uint64_t ours = 1000, ms = 1000;

	fm_budget_room(&b, 300 * MIB, 400 * MIB, ms); /* others: 324 MiB */
	for (; ms < 30000; ms += 100) {
		fm_budget_room(&b, GIB - b.now, b.now, ms);
		fm_budget_balance(&b, b.now, ours += 400, 100000);
		assert_true(b.now <= 572 * MIB);
	}
	assert_true(b.now > 560 * MIB);
	for (; ms < 130000; ms += 100) {
		fm_budget_room(&b, GIB - b.now, b.now, ms);
		fm_budget_balance(&b, b.now, ours += 400, 100000);
	}
	assert_true(b.now > GIB / 100 * 84);
}

/* What lies idle, the reserve of others too, but for a 32nd. */
static void lazy_pages_take_what_is_idle(void **state)
{
	struct fm_budget b;

	fm_budget_init(&b, 0, 50, GIB);
	assert_true(fm_budget_lazy(&b, 0, 300 * MIB) == 0);
	fm_budget_most_lazy(&b, UINT64_MAX);
	assert_true(fm_budget_lazy(&b, 0, 300 * MIB) == 268 * MIB);
	assert_true(fm_budget_lazy(&b, 268 * MIB, 32 * MIB) == 268 * MIB);
	/* Page cache has grown. */
	assert_true(fm_budget_lazy(&b, 268 * MIB, 0) == 236 * MIB);
	assert_true(fm_budget_lazy(&b, 10 * MIB, 0) == 0);
	assert_true(fm_budget_lazy(&b, 0, UINT64_MAX) == 0);
	fm_budget_most_lazy(&b, 100 * MIB);
	assert_true(fm_budget_lazy(&b, 0, 300 * MIB) == 100 * MIB);
}

/* A database beside much memory of the program's own: page cache that is read
 * no more keeps half of what pages of ours need, natively they would get it. */
static void lazy_pages_may_push_page_cache_out(void **state)
{
	struct fm_budget b = automatic();
	const uint64_t page_cache = 100 * MIB, lazy = 10 * MIB;
	uint64_t ours = 1000, theirs = 100000;

	fm_budget_most_lazy(&b, UINT64_MAX);
	fm_budget_room(&b, 200 * MIB, 200 * MIB, 2000);
	fm_budget_balance(&b, b.now, ours += 400, theirs);
	assert_true(fm_budget_lazy(&b, lazy, 0) > page_cache);
	assert_true(fm_budget_lazy(&b, lazy, 0) <= 400 * MIB - b.now);
	/* What has not come back says nothing. */
	fm_budget_balance(&b, b.now, ours, theirs);
	assert_true(fm_budget_lazy(&b, lazy, 0) > page_cache);
	/* What is free stays so for little of it. */
	assert_true(fm_budget_lazy(&b, 150 * MIB, 0) == 118 * MIB);
	fm_budget_balance(&b, b.now, ours += 100, theirs += 400);
	assert_true(fm_budget_lazy(&b, lazy, 0) == 0);
}

/* Where lazy pages are stored to, what lies in them is better the cache's. */
static void lazy_pages_that_are_stored_to_give_way(void **state)
{
	struct fm_budget b;
	uint64_t stores = 0;

	fm_budget_init(&b, 0, 87, GIB);
	fm_budget_most_lazy(&b, UINT64_MAX);
	assert_true(fm_budget_room(&b, 500 * MIB, 500 * MIB, 1000) <=
		    500 * MIB);
	for (int k = 0; k < 20; k++)
		fm_budget_stores(&b, stores += 400);
	assert_true(fm_budget_room(&b, 500 * MIB, 500 * MIB, 4000) > 650 * MIB);
	/* Others have most of the memory. */
	assert_true(fm_budget_room(&b, 100 * MIB, 300 * MIB, 4010) <=
		    200 * MIB);
	for (int k = 0; k < 2000; k++)
		fm_budget_stores(&b, stores);
	assert_true(fm_budget_room(&b, 500 * MIB, 500 * MIB, 8000) <=
		    500 * MIB);
}

/* An index that would fit, mapped twice, so that its pages cannot be lazy: of
 * 120 MiB others have 25. What lay idle for lazy pages is the cache's. */
static void what_no_lazy_page_takes_is_not_idle(void **state)
{
	const uint64_t others = 25 * MIB, limit = 120 * MIB, need = 75 * MIB;
	struct fm_budget b;
	uint64_t ours = 1000, ms = 1000, held = 0, least = UINT64_MAX;

	fm_budget_init(&b, 0, 50, limit);
	fm_budget_auto(&b);
	fm_budget_most_lazy(&b, UINT64_MAX);
	for (int k = 0; k < 400; k++, ms += 100) {
		bool short_of = b.now < need;

		held = short_of ? b.now : need;
		fm_budget_room(&b, limit - others - held, held, ms);
		fm_budget_lazy(&b, 0, limit - others - held);
		fm_budget_stores(&b, 0);
		ours += short_of ? 400 : 0;
		fm_budget_balance(&b, held, ours, 1);
		if (k > 20)
			least = b.now < least ? b.now : least;
	}
	assert_true(least >= need);
	/* Others take half of it. */
	fm_budget_room(&b, 5 * MIB, limit / 2 - 10 * MIB, ms);
	assert_true(b.now <= 30 * MIB);
}

/* The same memory filled by lazy pages is as good as the cache's. */
static void what_lazy_pages_take_is_left_to_them(void **state)
{
	const uint64_t others = 25 * MIB, limit = 120 * MIB;
	struct fm_budget b;
	uint64_t ours = 1000, ms = 1000;

	fm_budget_init(&b, 0, 50, limit);
	fm_budget_auto(&b);
	fm_budget_most_lazy(&b, UINT64_MAX);
	for (int k = 0; k < 400; k++, ms += 100) {
		fm_budget_room(&b, limit - others - b.now, b.now, ms);
		fm_budget_lazy(&b, limit - others - b.now - 4 * MIB, 4 * MIB);
		fm_budget_stores(&b, 0);
		fm_budget_balance(&b, b.now, ours += 400, 1);
	}
	assert_true(b.now <= (limit - others) / 2 + MIB);
}

/* A second of it, of 120 MiB that page cache holds besides others' 25: of each
 * 400 pages that leave, and come back, so many may be lazy. */
static uint64_t after_a_second(uint64_t may_be_lazy)
{
	const uint64_t others = 25 * MIB, limit = 120 * MIB;
	uint64_t ours = 1000, firm = 0, may = 0;
	struct fm_budget b;

	fm_budget_init(&b, 0, 50, limit);
	fm_budget_auto(&b);
	fm_budget_most_lazy(&b, UINT64_MAX);
	for (uint64_t ms = 1000; ms < 2000; ms += 100) {
		fm_budget_room(&b, limit - others - b.now, b.now, ms);
		fm_budget_lazy(&b, 0, 0);
		fm_budget_stores(&b, 0);
		fm_budget_left(&b, firm += 400 - may_be_lazy,
			       may += may_be_lazy);
		fm_budget_balance(&b, b.now, ours += 400, 1);
	}
	return b.now;
}

/* Page cache takes what is idle. */
static void nothing_is_set_aside_for_what_cannot_be_lazy(void **state)
{
	assert_true(after_a_second(0) >= 75 * MIB);
	assert_true(after_a_second(100) >= 75 * MIB);
	assert_true(after_a_second(300) <= 48 * MIB);
	assert_true(after_a_second(400) <= 48 * MIB);
}

/* The kernel counts by the batch: it has grown for all that. */
static void a_wobble_takes_nothing_back(void **state)
{
	const uint64_t limit = 64 * MIB, batch = MIB / 4;
	struct fm_budget b;

	fm_budget_init(&b, 0, 50, limit);
	for (uint64_t ms = 0; ms < 20000; ms += 20) {
		fm_budget_room(&b, 9 * MIB + ms / 20 % 3 * batch, 48 * MIB, ms);
		if (ms > 8000)
			assert_true(b.grown);
	}
	/* Others gave back what they had: that is more than one. */
	fm_budget_room(&b, 14 * MIB, 48 * MIB, 20020);
	assert_false(b.grown);
}

/* Ten times a second so many pages leave, of which so many come back, when so
 * many others have left. */
static enum fm_loops loops(uint64_t evicted, uint64_t back, uint64_t away,
		  uint64_t free)
{
	const uint64_t held = 60 * MIB, limit = 90 * MIB;
	struct fm_budget b, more;
	struct fm_flow f = { 0 };
	enum fm_loops at, ret = FM_LOOPS_NOT;

	fm_budget_init(&b, 0, 50, limit);
	fm_budget_auto(&b);
	fm_budget_room(&b, 15 * MIB, held, 1000);
	fm_budget_room(&b, 15 * MIB, held, 5000);
	fm_budget_lazy(&b, 0, free);
	more = b;
	for (int k = 0; k < 10; k++) {
		f.evicted += evicted;
		f.back += back;
		f.away += back * away;
		/* Less is sure where more is mapped than nearly fits. */
		at = fm_budget_loops(&b, &f, held, 79 * MIB);
		assert_true(fm_budget_loops(&more, &f, held, 80 * MIB) ==
			    (at ? FM_LOOPS_PERHAPS : FM_LOOPS_NOT));
		assert_true(!at || !ret || at == ret);
		ret = at ? at : ret;
		assert_true(!ret || k >= 4);
	}
	return ret;
}

static void what_fits_but_for_the_reserve_is_the_kernels(void **state)
{
	const uint64_t mib = MIB / 4096;

	assert_int_equal(loops(1000, 990, 14 * mib, 4 * MIB), FM_LOOPS_SURELY);
	/* does not fit, but by little: 24 of 75 MiB, 25 */
	assert_int_equal(loops(1000, 990, 24 * mib, 4 * MIB), FM_LOOPS_SURELY);
	assert_int_equal(loops(1000, 990, 25 * mib, 4 * MIB), FM_LOOPS_NOT);
	/* new ones, too */
	assert_int_equal(loops(1000, 600, 14 * mib, 4 * MIB), FM_LOOPS_NOT);
	/* all of it, as far as ghosts tell */
	assert_int_equal(loops(1000, 700, 14 * mib, 4 * MIB), FM_LOOPS_SURELY);
	/* few, or a slow device; next to none */
	assert_int_equal(loops(200, 190, 14 * mib, 4 * MIB), FM_LOOPS_SURELY);
	assert_int_equal(loops(30, 29, 14 * mib, 4 * MIB), FM_LOOPS_NOT);
	/* it can grow */
	assert_int_equal(loops(1000, 990, 14 * mib, 14 * MIB), FM_LOOPS_NOT);
}

/* What is idle then, beyond the largest share, it cannot have. */
static void the_largest_share_cannot_grow(void **state)
{
	struct fm_budget b;
	struct fm_flow f = { 0 };
	unsigned n = 0;

	fm_budget_init(&b, 0, 87, 128 * MIB);
	fm_budget_auto(&b);
	fm_budget_room(&b, 20 * MIB, 106 * MIB, 1000);
	fm_budget_room(&b, 20 * MIB, 106 * MIB, 5000);
	fm_budget_lazy(&b, 0, 20 * MIB);
	for (int k = 0; k < 15; k++) {
		f = (struct fm_flow){ f.evicted + 1000, f.back + 990,
				      f.away + 990 * 2048 };
		n += fm_budget_loops(&b, &f, 106 * MIB, GIB) ==
		     FM_LOOPS_PERHAPS;
	}
	assert_int_equal(n, 3);
}

static void what_is_dirty_leaves_room_for_others(void **state)
{
	struct fm_budget b;

	fm_budget_init(&b, 0, 50, GIB);
	assert_true(fm_budget_dirty(&b) == 0); /* nobody has looked */
	assert_false(fm_budget_drowns(&b, GIB, GIB));
	fm_budget_room(&b, 300 * MIB, 400 * MIB, 1000);
	assert_true(fm_budget_dirty(&b) == 444 * MIB);
	assert_false(fm_budget_drowns(&b, 500 * MIB, 500 * MIB));
	fm_budget_room(&b, 200 * MIB, 400 * MIB, 1010);
	assert_true(fm_budget_drowns(&b, 500 * MIB, 500 * MIB));
	/* less than that is dirty, but it is what has to leave */
	fm_budget_room(&b, 64 * MIB, 544 * MIB, 1015);
	assert_true(b.now < 500 * MIB);
	assert_true(fm_budget_drowns(&b, 544 * MIB, 420 * MIB));
	assert_false(fm_budget_drowns(&b, 544 * MIB, 200 * MIB));
	assert_false(fm_budget_drowns(&b, b.now + MIB, 420 * MIB));
	fm_budget_room(&b, UINT64_MAX, 400 * MIB, 1020);
	assert_true(fm_budget_dirty(&b) == 0);
	assert_false(fm_budget_drowns(&b, GIB, GIB));
}

/* In a small group the price of an engine decides; in a large one what others
 * may take before it is noticed. */
static void begins_where_it_has_room(void **state)
{
	assert_false(fm_budget_begins(12 * MIB, 8 * MIB));
	assert_false(fm_budget_begins(64 * MIB, 13 * MIB));
	assert_true(fm_budget_begins(64 * MIB, 15 * MIB));
	assert_false(fm_budget_begins(GIB, 100 * MIB));
	assert_true(fm_budget_begins(GIB, 140 * MIB));
	assert_true(fm_budget_begins(UINT64_MAX, GIB));
	assert_false(fm_budget_begins(64 * MIB, 0));
}

FM_UNIT(budget)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(percent_follows_the_limit),
		cmocka_unit_test(fixed_stays_below_the_limit),
		cmocka_unit_test(others_come_first),
		cmocka_unit_test(room_comes_back_by_and_by),
		cmocka_unit_test(looks_more_often_when_little_is_left),
		cmocka_unit_test(looks_seldom_while_it_has_nothing),
		cmocka_unit_test(more_stays_free_for_who_is_fast),
		cmocka_unit_test(counting_by_the_batch_is_no_haste),
		cmocka_unit_test(a_burst_is_haste),
		cmocka_unit_test(who_grows_is_as_fast_as_he_grows),
		cmocka_unit_test(less_stays_free_when_others_rest),
		cmocka_unit_test(more_stays_free_when_looks_come_late),
		cmocka_unit_test(grows_while_its_pages_come_back),
		cmocka_unit_test(does_not_grow_blindly),
		cmocka_unit_test(page_cache_takes_it_back),
		cmocka_unit_test(starves_when_too_little_is_left_for_long),
		cmocka_unit_test(is_short_at_once),
		cmocka_unit_test(is_short_until_it_is_calm),
		cmocka_unit_test(does_not_grow_into_what_others_had),
		cmocka_unit_test(lazy_pages_take_what_is_idle),
		cmocka_unit_test(lazy_pages_may_push_page_cache_out),
		cmocka_unit_test(lazy_pages_that_are_stored_to_give_way),
		cmocka_unit_test(what_no_lazy_page_takes_is_not_idle),
		cmocka_unit_test(what_lazy_pages_take_is_left_to_them),
		cmocka_unit_test(nothing_is_set_aside_for_what_cannot_be_lazy),
		cmocka_unit_test(what_fits_but_for_the_reserve_is_the_kernels),
		cmocka_unit_test(the_largest_share_cannot_grow),
		cmocka_unit_test(a_wobble_takes_nothing_back),
		cmocka_unit_test(what_is_dirty_leaves_room_for_others),
		cmocka_unit_test(begins_where_it_has_room),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
