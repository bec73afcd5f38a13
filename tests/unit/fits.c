/* SPDX-License-Identifier: MIT */
/* What fits into memory, but not into the cache, is the kernel's. */
#include "unit.h"

#include "mmap/fits_rule.h"

#define MIB ((uint64_t)1 << 20)

static struct fm_fits f;

static bool kernels(uint64_t file_mib)
{
	f.file = file_mib * MIB;
	return fm_fits_kernel(&f);
}

static int begin(void **state)
{
	f = (struct fm_fits){ .left = 80 * MIB, .cache = 40 * MIB };
	return 0;
}

static void between_cache_and_memory(void **state)
{
	assert_false(kernels(40)); /* the cache begins with that much */
	assert_true(kernels(41));
	assert_true(kernels(80));
	assert_true(kernels(85)); /* a sixteenth more */
	assert_false(kernels(86));
}

static void a_small_share_of_memory(void **state)
{
	f.cache = 20 * MIB;
	assert_false(kernels(20));
	assert_true(kernels(21));
}

static void others_that_are_mapped_count(void **state)
{
	f.kernels = 30 * MIB;
	assert_true(kernels(55));
	assert_false(kernels(56));
	f.kernels = 0;
	f.engines = 20 * MIB;
	assert_false(kernels(20)); /* both fit into the cache */
	assert_true(kernels(21));
	assert_false(kernels(66));
}

static void the_engine_keeps_the_larger_part(void **state)
{
	f.engines = 40 * MIB;
	assert_false(kernels(39));
	assert_true(kernels(40));
}

static void nothing_tells(void **state)
{
	f.left = UINT64_MAX;
	assert_false(kernels(60));
	f.left = 0;
	assert_false(kernels(60));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(between_cache_and_memory, begin),
		cmocka_unit_test_setup(a_small_share_of_memory, begin),
		cmocka_unit_test_setup(others_that_are_mapped_count, begin),
		cmocka_unit_test_setup(the_engine_keeps_the_larger_part, begin),
		cmocka_unit_test_setup(nothing_tells, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
