/* SPDX-License-Identifier: MIT */
/* What an access costs with each server, told beforehand. */
#include "unit.h"

#include "serve/cost.h"
#include "tunables.h"

#define MIB ((uint64_t)1 << 20)

static struct fm_cost_facts f;

static bool kernel_less(void)
{
	const struct fm_costs c = fm_cost(&f);

	return fm_cost_kernel_less(&c);
}

static bool kernels(uint64_t engines_mib, uint64_t kernels_mib)
{
	f.engines = engines_mib * MIB;
	f.all = f.engines + kernels_mib * MIB;
	return kernel_less();
}

static int begin(void **state)
{
	f = (struct fm_cost_facts){ .memory = 80 * MIB, .cache = 40 * MIB };
	return 0;
}

static void between_cache_and_memory(void **state)
{
	assert_false(kernels(40, 0)); /* the cache begins with that much */
	assert_true(kernels(41, 0));
	assert_true(kernels(80, 0));
	assert_true(kernels(85, 0)); /* a sixteenth more */
	assert_true(kernels(100, 0)); /* 22 % miss, of ours 60 */
	assert_false(kernels(800, 0));
}

static void a_small_share_of_memory(void **state)
{
	f.cache = 20 * MIB;
	assert_false(kernels(20, 0));
	assert_true(kernels(21, 0));
}

/* What the kernel has already takes its memory. */
static void others_that_are_mapped_count(void **state)
{
	assert_true(kernels(55, 30));
	assert_false(kernels(56, 50)); /* 26 % miss, of ours 28 */
}

/* A cache whose size was given: the kernel would have no more. */
static void memory_that_is_not_known(void **state)
{
	f.memory = UINT64_MAX;
	assert_false(kernels(60, 0));
	assert_false(kernels(600, 0));
}

/* Both miss as often; on a device as fast as memory it is the way there that
 * counts. */
static void what_a_miss_takes(void **state)
{
	f.memory = UINT64_MAX;
	f.engine_ns = 40000;
	f.kernel_ns = 31000;
	assert_false(kernels(600, 0));
	f.kernel_ns = 29000;
	assert_true(kernels(600, 0));
	assert_false(kernels(40, 0)); /* nothing misses */
}

/* Where the device is waited for both wait as long; where the CPUs are, the
 * kernel has less to do. How long a miss takes is measured with that in it. */
static void what_is_short(void **state)
{
	f.memory = UINT64_MAX;
	f.engine_ns = 300000;
	f.cpu = 410; /* of which the kernel has two fifths */
	assert_false(kernels(600, 0));
	f.cpu = 430;
	assert_true(kernels(600, 0));
	assert_false(kernels(40, 0)); /* nothing misses */
	f.cpu = 1000;
	f.memory = 256 * MIB; /* of 600 the kernel misses 59 %, we 60 */
	f.cache = 240 * MIB;
	assert_true(kernels(600, 0));
	f.cache = 440 * MIB; /* and so we do 27 */
	assert_false(kernels(600, 0));
}

/* What is hoped to be saved, and what is worth a change, are one figure. */
static void what_is_worth_a_change(void **state)
{
	const struct fm_costs c = { .engine = 1000, .kernel = 800 };
	const uint32_t usual = fm_tune.serve_lost_much;

	assert_int_equal(fm_cost_kernel_saves(&c), 200);
	assert_false(fm_cost_kernel_less(&c));
	fm_tune.serve_lost_much = 199;
	assert_true(fm_cost_kernel_less(&c));
	fm_tune.serve_lost_much = usual;
}

/* Of a file where groups of 16 and more save three misses of four. */
static void near_each_other(void)
{
	f.memory = UINT64_MAX;
	f.engine_ns = 100000;
	f.miss = (struct fm_miss){ .fixed = 24, .kernel = 32 };
	f.miss.counts = (struct fm_miss_counts){
		.seen = 256, .saved = { 16, 64, 128, 192, 192, 192 },
	};
}

/* What the kernel brings the engine can bring as well. */
static void what_comes_along_costs_no_less(void **state)
{
	struct fm_costs c;

	near_each_other();
	for (f.miss.kernel = 0; f.miss.kernel <= 4096; f.miss.kernel += 32) {
		assert_false(kernels(600, 0));
		c = fm_cost(&f);
		assert_true(c.kernel + 1 >= c.engine);
	}
}

/* Lists that are read whole: streams bring most of what the engine has. */
static void what_streams_bring_is_of_the_cost(void **state)
{
	struct fm_costs c;

	near_each_other();
	f.engines = f.all = 160 * MIB;
	f.miss.all = (struct fm_miss_counts){
		.seen = 1024, .saved = { 500, 750, 870, 930, 984, 992 },
	};
	f.miss.waits = FM_MISS_ALL / 8;
	f.miss.pages = 12;
	c = fm_cost(&f);
	assert_in_range(c.engine, 9300, 9400);
	assert_in_range(c.kernel, 4300, 4700); /* 40 in 1024, 56 for 36 */
	assert_int_equal(fm_miss_worth_kernel(&f.miss), 819);
	f.page_ns = 14000; /* three quarters miss, of a slow device */
	c = fm_cost(&f);
	assert_in_range(c.kernel, 10400, 10600);
	f.miss.kernel = 2048; /* most of that is for nothing */
	c = fm_cost(&f);
	assert_true(c.kernel > 2 * c.engine);
}

/* A miss of the engine's takes 0.1 ms; three quarters of 160 MiB miss. */
static void what_comes_along_is_of_the_cost(void **state)
{
	struct fm_costs c;

	near_each_other();
	f.engines = f.all = 160 * MIB;
	c = fm_cost(&f);
	assert_in_range(c.engine, 18700, 18800); /* of 16 pages: a quarter */
	assert_in_range(c.kernel, 26000, 26300); /* of 32: 56 for 40 */
	f.miss.kernel = 2048; /* better alone */
	c = fm_cost(&f);
	assert_in_range(c.kernel, 46000, 47000); /* all, 25 for 40 */
	f.miss.counts.seen = 32; /* not known yet */
	c = fm_cost(&f);
	assert_in_range(c.kernel, 74900, 75100);
}

static void what_it_comes_to(void **state)
{
	struct fm_costs c;

	f.engines = f.all = 160 * MIB;
	f.engine_ns = 100000;
	c = fm_cost(&f);
	assert_in_range(c.engine, 74900, 75100); /* three quarters miss */
	assert_in_range(c.kernel, 51400, 51600); /* of 80 MiB 77.5 count */
	f.all = f.engines = 80 * MIB;
	c = fm_cost(&f);
	assert_in_range(c.engine, 49900, 50100);
	assert_int_equal(c.kernel, 0);
}

/* Whatever is to come, who changes then pays twice the least at most. */
static void reading_it_anew_has_to_pay(void **state)
{
	assert_false(fm_cost_rereads(&f));
	f.reread_ns = 2000000000;
	f.waited_ns = 1999999999;
	assert_false(fm_cost_rereads(&f));
	f.waited_ns = 2000000000;
	assert_true(fm_cost_rereads(&f));
	f.reread_ns = 0;
	assert_true(fm_cost_rereads(&f));
}

static void sizes_that_are_extreme(void **state)
{
	f.engines = f.all = UINT64_MAX / 2;
	assert_false(kernel_less());
	f.engines = f.all = f.cache = f.memory = 0;
	assert_false(kernel_less());
}

/* A program that maps little and ends: all of it is read sooner. */
static void an_engine_starts_for_what_is_worth_it(void **state)
{
	const uint64_t little = fm_tune.serve_start;

	assert_false(kernel_less()); /* it runs */
	f.start = fm_cost_start(3 * little, 0, 0);
	assert_true(fm_cost_too_small(3 * little));
	assert_true(kernel_less());
	f.start = fm_cost_start(4 * little, 0, 0);
	assert_false(fm_cost_too_small(4 * little));
	assert_false(kernel_less());
}

/* Where each read takes long, and the kernel makes many of them. */
static void an_engine_starts_where_reads_take_long(void **state)
{
	const uint64_t kib = 1024, late = fm_tune.first_read_late_ns;

	assert_true(fm_cost_counts(fm_cost_start(4 * MIB, 128 * kib, 0)));
	assert_false(fm_cost_counts(fm_cost_start(4 * MIB, 128 * kib, late)));
	assert_true(fm_cost_counts(fm_cost_start(MIB, 128 * kib, late)));
	assert_true(fm_cost_counts(fm_cost_start(4 * MIB, 8 * MIB, late)));
	assert_true(fm_cost_counts(fm_cost_start(4 * MIB, 0, late)));
}

/* Each store asks for a block; what there is to read is read with either. */
static void new_files_are_the_kernels(void **state)
{
	const struct fm_hole_price disk = { .room = 20000, .read = 100000 };

	f.memory = UINT64_MAX;
	f.holes = fm_cost_holes(600 * MIB, 0, &disk);
	assert_int_equal(f.holes, 1000);
	assert_true(kernel_less());
	assert_in_range(fm_cost_holes(600 * MIB, 100 * MIB, &disk), 499, 501);
	assert_in_range(fm_cost_holes(UINT64_MAX, 0, &disk), 990, 1000);
	assert_int_equal(fm_cost_holes(MIB, 2 * MIB, &disk), 0);
	assert_int_equal(fm_cost_holes(0, 0, &disk), 0);
}

/* Where a read takes as long as room does, half of it may be written; where it
 * takes long, room is nothing. */
static void holes_cost_what_the_device_takes(void **state)
{
	const struct fm_hole_price alike = { .room = 100000, .read = 100000 };
	const struct fm_hole_price far = { .room = 20000, .read = 5000000 };

	assert_in_range(fm_cost_holes_end(1000 * MIB, &alike), 749 * MIB,
			751 * MIB);
	f.memory = UINT64_MAX;
	f.holes = fm_cost_holes(1000 * MIB, 700 * MIB, &alike);
	assert_true(kernel_less());
	f.holes = fm_cost_holes(1000 * MIB, 800 * MIB, &alike);
	assert_false(kernel_less());
	f.holes = fm_cost_holes(1000 * MIB, 20 * MIB, &far);
	assert_false(kernel_less());
	assert_true(fm_cost_holes_end(1000 * MIB, &far) < 20 * MIB);
}

FM_UNIT(cost)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(between_cache_and_memory, begin),
		cmocka_unit_test_setup(a_small_share_of_memory, begin),
		cmocka_unit_test_setup(others_that_are_mapped_count, begin),
		cmocka_unit_test_setup(memory_that_is_not_known, begin),
		cmocka_unit_test_setup(what_a_miss_takes, begin),
		cmocka_unit_test_setup(what_comes_along_costs_no_less, begin),
		cmocka_unit_test_setup(what_streams_bring_is_of_the_cost,
				       begin),
		cmocka_unit_test_setup(what_comes_along_is_of_the_cost, begin),
		cmocka_unit_test_setup(what_it_comes_to, begin),
		cmocka_unit_test_setup(reading_it_anew_has_to_pay, begin),
		cmocka_unit_test_setup(what_is_short, begin),
		cmocka_unit_test(what_is_worth_a_change),
		cmocka_unit_test_setup(sizes_that_are_extreme, begin),
		cmocka_unit_test_setup(an_engine_starts_for_what_is_worth_it,
				       begin),
		cmocka_unit_test(an_engine_starts_where_reads_take_long),
		cmocka_unit_test_setup(new_files_are_the_kernels, begin),
		cmocka_unit_test_setup(holes_cost_what_the_device_takes, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
