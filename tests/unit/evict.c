/* SPDX-License-Identifier: MIT */
/* The queues of the eviction policies: entries come and go at either end in
 * order, and policies with entries give them up in proportion. */
#include "unit.h"

#include <stdlib.h>

#include "cache/evict_policy.h"
#include "cache/evict_queues.h"

#define STEPS 200000
#define MOST 4096

static struct fm_queue q;
static uint64_t model[2 * STEPS];
static unsigned first = STEPS, last = STEPS; /* [first, last) of the model */

static void push(uint64_t e)
{
	if (rand() % 2) {
		model[last++] = e;
		fm_queue_push(&q, e);
	} else {
		model[--first] = e;
		fm_queue_push_first(&q, e);
	}
}

static void pop(void)
{
	bool old = rand() % 2, got;
	uint64_t e = 0, want = 0;

	if (first < last)
		want = old ? model[first] : model[last - 1];
	got = old ? fm_queue_pop(&q, &e) : fm_queue_pop_last(&q, &e);
	assert_int_equal(got, first < last);
	if (!got)
		return;
	assert_int_equal(e, want);
	if (old)
		first++;
	else
		last--;
}

/* Growing and shrinking, over many chunks and down to nothing. */
static void test_both_ends(void **state)
{
	for (uint64_t k = 0; k < STEPS; k++) {
		bool grow = k / MOST % 2 == 0;

		if (rand() % 8 < (grow ? 6 : 2))
			push(k);
		else
			pop();
		assert_int_equal(fm_queue_len(&q), last - first);
	}
	while (first < last)
		pop();
	pop();
}

static void test_turns(void **state)
{
	unsigned turns[FM_EVICT_POLICIES] = { 0 };

	assert_true(FM_EVICT_POLICIES >= 2);
	fm_evict_start();
	assert_int_equal(fm_evict_turn(0, 0), 0); /* nothing there: any */
	for (int k = 0; k < 300; k++)
		fm_evict_push(fm_evict_list(0, 0, 1, false), 1);
	assert_int_equal(fm_evict_turn(0, 0), 1);
	for (int k = 0; k < 100; k++)
		fm_evict_push(fm_evict_list(0, 0, 0, k % 2), 1);
	for (int k = 0; k < 400; k++)
		turns[fm_evict_turn(0, 0)]++;
	assert_in_range(turns[0], 98, 102);
	assert_in_range(turns[1], 298, 302);
	assert_int_equal(fm_evict_pages(0, 0), 400);
	assert_int_equal(fm_evict_pages(0, FM_POOL_LOW), 0);
	fm_evict_reset();
	assert_int_equal(fm_evict_entries(0, 0, 1), 0);
}

FM_UNIT(evict)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_both_ends),
		cmocka_unit_test(test_turns),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
