/* SPDX-License-Identifier: MIT */
/* base/early.h: a few small pieces, again and again, are had from there; they
 * are zeroed, apart, and may be grown into the allocator's memory. */
#include "unit.h"

#include <stdint.h>
#include <string.h>

#include "base/alloc.h"
#include "base/early.h"

#define PIECES 4096

static bool is_zeroed(const unsigned char *p, size_t n)
{
	for (size_t i = 0; i < n; i++)
		if (p[i])
			return false;
	return true;
}

/* All that there is, each filled with a byte of its own. */
static void they_are_apart(void **state)
{
	static unsigned char *p[PIECES];
	unsigned n = 0;

	while (n < PIECES && (p[n] = fm_early_get(1 + n % 100)) != NULL) {
		assert_true(fm_early_has(p[n]));
		assert_int_equal((uintptr_t)p[n] % 16, 0);
		assert_true(is_zeroed(p[n], fm_early_size(p[n])));
		memset(p[n], (int)n | 1, fm_early_size(p[n]));
		n++;
	}
	assert_in_range(n, 64, PIECES - 1);
	for (unsigned i = 0; i < n; i++)
		for (size_t k = 0; k < fm_early_size(p[i]); k++)
			assert_int_equal(p[i][k], (i | 1) & 255);
	for (unsigned i = 0; i < n; i++)
		fm_early_put(p[i]);
}

static void what_was_given_back_is_used_again(void **state)
{
	for (unsigned i = 0; i < PIECES; i++) {
		unsigned char *p = fm_early_get(64);

		assert_non_null(p);
		assert_true(is_zeroed(p, 64));
		memset(p, 1, 64);
		fm_early_put(p);
	}
}

static void a_large_one_is_not(void **state)
{
	assert_null(fm_early_get(1u << 20));
	assert_null(fm_early_get(SIZE_MAX));
	assert_false(fm_early_has(state));
}

/* Through the allocator: whether it has begun or not, nothing is lost. */
static void it_grows(void **state)
{
	char *p = fm_alloc(24);

	strcpy(p, "a text of twenty bytes");
	for (size_t n = 32; n < 1u << 20; n *= 3) {
		p = fm_realloc(p, n);
		assert_non_null(p);
		assert_string_equal(p, "a text of twenty bytes");
	}
	fm_free(p);
}

FM_UNIT(early)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(they_are_apart),
		cmocka_unit_test(what_was_given_back_is_used_again),
		cmocka_unit_test(a_large_one_is_not),
		cmocka_unit_test(it_grows),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
