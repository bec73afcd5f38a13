/* SPDX-License-Identifier: MIT */
/* The estimate of what another size of cache would load, against a FIFO cache
 * of that size that gets the same touches. */
#include "unit.h"

#include <stdlib.h>
#include <string.h>

#include "cache/reuse.h"

#define CACHE 8192
#define PAGES (3 * CACHE)
#define TOUCHES (80 * CACHE)

static uint32_t queue[PAGES];
static bool there[PAGES];
static uint64_t seed;

static uint64_t hash(uint64_t n)
{
	return n * 0x9e3779b97f4a7c15ull;
}

static uint32_t any_page(uint64_t k)
{
	seed = seed * 6364136223846793005ull + 1442695040888963407ull;
	return (uint32_t)((seed >> 33) % PAGES);
}

/* A quarter of the pages gets three quarters of the touches. */
static uint32_t skewed_page(uint64_t k)
{
	uint32_t n = any_page(k);

	return seed >> 60 < 11 ? n / 4 : n;
}

static uint32_t next_page(uint64_t k)
{
	return (uint32_t)(k % PAGES);
}

/* Loads of a FIFO cache of `size` pages; `note`: the estimate sees them. */
static uint64_t loads(uint64_t size, uint32_t (*touch)(uint64_t), bool note)
{
	uint64_t n = 0;

	memset(there, 0, sizeof(there));
	seed = 1;
	for (uint64_t k = 0; k < TOUCHES; k++) {
		const uint32_t p = touch(k), old = queue[n % size];

		if (there[p])
			continue;
		if (n >= size) {
			there[old] = false;
			if (note)
				fm_reuse_left(hash(old));
		}
		there[p] = true;
		queue[n++ % size] = p;
		if (note)
			fm_reuse_came(0, hash(p));
	}
	return n;
}

static struct fm_curve curve_of(uint32_t (*touch)(uint64_t))
{
	struct fm_curve c;
	struct fm_reuse r;

	fm_reuse_start(CACHE);
	fm_reuse_reset();
	loads(CACHE, touch, true);
	fm_reuse_get(&r);
	fm_reuse_curve(&r, &c);
	return c;
}

static void assert_near(uint64_t part, uint64_t real, uint64_t base)
{
	const double want = 1000.0 * (double)real / (double)base;

	assert_in_range(part, (uint64_t)(want * 0.85), (uint64_t)(want * 1.15));
}

static void expect_as_measured(uint32_t (*touch)(uint64_t))
{
	const struct fm_curve c = curve_of(touch);
	const uint64_t base = loads(CACHE, touch, false);

	assert_near(c.part[FM_CURVE_QUARTER], loads(CACHE / 4, touch, false),
		    base);
	assert_near(c.part[FM_CURVE_HALF], loads(CACHE / 2, touch, false),
		    base);
	assert_near(c.part[FM_CURVE_DOUBLE], loads(CACHE * 2, touch, false),
		    base);
}

static void test_random(void **state)
{
	expect_as_measured(any_page);
}

static void test_skewed(void **state)
{
	expect_as_measured(skewed_page);
}

/* What goes round and does not fit is loaded each time, whatever the size. */
static void test_circle(void **state)
{
	const struct fm_curve c = curve_of(next_page);

	assert_in_range(c.part[FM_CURVE_QUARTER], 980, 1010);
	assert_in_range(c.part[FM_CURVE_HALF], 980, 1010);
	assert_in_range(c.part[FM_CURVE_DOUBLE], 980, 1010);
	assert_true(c.part[FM_CURVE_FOUR] < 200); /* it fits */
}

static uint32_t few_pages(uint64_t k)
{
	return any_page(k) % (CACHE / 2);
}

/* Nothing was evicted: nothing is known. */
static void test_fits(void **state)
{
	const struct fm_curve c = curve_of(few_pages);

	assert_true(c.samples > 0);
	for (int i = 0; i < FM_CURVE_SIZES; i++)
		assert_true(c.part[i] == FM_CURVE_UNKNOWN);
}

/* What a smaller cache had to load is forgotten. */
static void test_resized(void **state)
{
	const uint64_t base = loads(CACHE, any_page, false);
	struct fm_curve c;
	struct fm_reuse r;

	fm_reuse_start(CACHE);
	fm_reuse_reset();
	loads(CACHE / 64, any_page, true);
	fm_reuse_restart(CACHE);
	fm_reuse_get(&r);
	fm_reuse_curve(&r, &c);
	assert_true(c.samples > 0 && !c.loads);
	loads(CACHE, any_page, true);
	fm_reuse_get(&r);
	fm_reuse_curve(&r, &c);
	assert_near(c.part[FM_CURVE_HALF], loads(CACHE / 2, any_page, false),
		    base);
	assert_near(c.part[FM_CURVE_DOUBLE], loads(CACHE * 2, any_page, false),
		    base);
}

FM_UNIT(reuse)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_random),
		cmocka_unit_test(test_skewed),
		cmocka_unit_test(test_circle),
		cmocka_unit_test(test_fits),
		cmocka_unit_test(test_resized),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
