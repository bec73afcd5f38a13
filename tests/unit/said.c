/* SPDX-License-Identifier: MIT */
/* What is said of ranges of pages, against an array with an entry for each
 * page. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "base/sys.h"
#include "map/vma_advice.h"

#define PAGES 96
#define RANDOM 1
#define SEQUENTIAL 2
#define DONTDUMP 4

static struct fm_said s;

static int empty(void **state)
{
	fm_vma_advice_free(&s);
	return 0;
}

static uint8_t at(uint64_t page)
{
	for (size_t k = 0; k < s.n; k++)
		if (s.v[k].first <= page && page < s.v[k].stop)
			return s.v[k].what;
	return 0;
}

static void nothing_new_takes_no_memory(void **state)
{
	assert_int_equal(fm_vma_advice_note(&s, 3, 9, MADV_NORMAL), 0);
	assert_int_equal(fm_vma_advice_note(&s, 3, 9, MADV_DODUMP), 0);
	assert_int_equal(fm_vma_advice_note(&s, 3, 9, MADV_WILLNEED), 0);
	assert_null(s.v);
}

static void promoted_is_gone(void **state)
{
	fm_vma_advice_note(&s, 3, 9, MADV_RANDOM);
	fm_vma_advice_note(&s, 9, 12, MADV_RANDOM);
	assert_int_equal(s.n, 1);
	fm_vma_advice_note(&s, 4, 5, MADV_NORMAL);
	assert_int_equal(s.n, 2);
	fm_vma_advice_note(&s, 0, 40, MADV_NORMAL);
	assert_int_equal(s.n, 0);
}

static void grows_like_its_end(void **state)
{
	struct fm_said other = { NULL, 0, 0 };

	fm_vma_advice_note(&s, 0, 10, MADV_RANDOM);
	fm_vma_advice_note(&s, 9, 10, MADV_DONTDUMP);
	fm_vma_advice_grow(&s, 10, 20, &s, 9);
	assert_int_equal(at(19), RANDOM | DONTDUMP);
	assert_int_equal(s.n, 2);
	fm_vma_advice_grow(&other, 0, 5, &s, 3);
	assert_int_equal(other.n, 1);
	assert_int_equal(other.v[0].what, RANDOM);
	fm_vma_advice_free(&other);
}

static void model(uint8_t *m, uint64_t first, uint64_t stop, int advice)
{
	for (uint64_t i = first; i < stop; i++) {
		if (advice <= MADV_SEQUENTIAL)
			m[i] &= DONTDUMP;
		if (advice == MADV_RANDOM)
			m[i] |= RANDOM;
		if (advice == MADV_SEQUENTIAL)
			m[i] |= SEQUENTIAL;
		if (advice == MADV_DONTDUMP)
			m[i] |= DONTDUMP;
		if (advice == MADV_DODUMP)
			m[i] &= ~DONTDUMP;
	}
}

static void is_canonical(void)
{
	for (size_t k = 0; k < s.n; k++) {
		assert_true(s.v[k].first < s.v[k].stop && s.v[k].what);
		assert_true(!k || s.v[k - 1].stop <= s.v[k].first);
		assert_true(!k || s.v[k - 1].stop < s.v[k].first ||
			    s.v[k - 1].what != s.v[k].what);
	}
}

static void agrees_with_the_model(void **state)
{
	static const int advice[] = { MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL,
				      MADV_DONTDUMP, MADV_DODUMP };
	uint8_t m[PAGES] = { 0 };

	srand(1);
	for (int n = 0; n < 20000; n++) {
		uint64_t a = (uint64_t)rand() % PAGES;
		uint64_t e = a + (uint64_t)rand() % (PAGES - a + 1);
		int what = advice[rand() % 5];

		assert_int_equal(fm_vma_advice_note(&s, a, e, what), 0);
		model(m, a, e, what);
		for (uint64_t i = 0; i < PAGES; i++)
			assert_int_equal(at(i), m[i]);
		is_canonical();
	}
}

FM_UNIT(said)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(nothing_new_takes_no_memory, empty),
		cmocka_unit_test_setup(promoted_is_gone, empty),
		cmocka_unit_test_setup(grows_like_its_end, empty),
		cmocka_unit_test_setup(agrees_with_the_model, empty),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
