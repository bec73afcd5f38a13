/* SPDX-License-Identifier: MIT */
/* What a program loses, how far it gets, and with whom that is better. */
#include "unit.h"

#include "serve/serve.h"
#include "tunables.h"

#define MIB ((uint64_t)1 << 20)

static struct fm_rate second_of(uint64_t major, uint64_t mib,
				       uint64_t spent_ms, uint64_t loads,
				       uint32_t missing)
{
	const struct fm_totals a = { .ms = 500, .major = 7,
				     .read_bytes = 9, .spent_ns = 11,
				     .faults = 13, .loads = 15 };
	struct fm_totals b = a;
	struct fm_rate r;

	b.ms += 1000;
	b.major += major;
	b.read_bytes += mib * MIB;
	b.spent_ns += spent_ms * 1000000;
	b.loads += loads;
	r = fm_rate_between(&a, &b);
	r.missing = missing;
	return r;
}

static struct fm_rate kernel(uint64_t major, uint64_t mib,
				    uint32_t missing)
{
	return second_of(major, mib, 0, 0, missing);
}

static struct fm_rate engine(uint64_t loads, uint64_t mib,
				    uint64_t spent_ms, uint32_t missing)
{
	return second_of(0, mib, spent_ms, loads, missing);
}

static void what_is_lost(void **state)
{
	struct fm_rate r = kernel(4000, 64, 900);

	assert_int_equal(r.kernel, 416 + 67); /* 16384 pages, 4 us each */
	assert_int_equal(r.waits, 4000);
	assert_int_equal(r.kib, 64 << 10);
	assert_true(r.kernel >= fm_tune.serve_lost_much);
	r = engine(4000, 64, 700, 900);
	assert_int_equal(r.engine, 700);
	assert_int_equal(r.kernel, 0); /* nobody waits for the kernel */
	r = kernel(100, 10, 900);
	assert_true(r.kernel < fm_tune.serve_lost_much);
}

/* Where groups come along a wait is more accesses than where pages come
 * alone. */
static void waits_count_for_what_comes_along(void **state)
{
	struct fm_rate alone = engine(4000, 16, 900, 500);
	struct fm_rate groups = kernel(2000, 250, 500);

	assert_int_equal(fm_rate_reached(&alone), 8000);
	assert_false(fm_rate_kernel_better(&alone, &groups));
	alone.used = 4000;
	groups.used = 8000;
	assert_int_equal(fm_rate_reached(&groups), 16000);
	assert_true(fm_rate_kernel_better(&alone, &groups));
	assert_false(fm_rate_kernel_worse(&alone, &groups));
	groups.used = 4400; /* no more than a second differs */
	assert_false(fm_rate_kernel_better(&alone, &groups));
}

static uint32_t used_of(uint32_t left, uint32_t worth, uint64_t major,
			uint64_t mib)
{
	const struct fm_totals a = { .ms = 1000 };
	const struct fm_totals b = { .ms = 2000, .major = major,
				     .read_bytes = mib * MIB,
				     .load_bytes = MIB, .used = 100,
				     .left = left, .worth = worth };

	return fm_rate_between(&a, &b).used;
}

/* Lists of 96 pages, read whole: with 32 pages a read hardly anybody waits for
 * more than the first, with 2,048 most of what comes is for nothing. */
static void what_the_kernel_brought_in_time(void **state)
{
	assert_int_equal(used_of(0, 0, 1000, 257), 100); /* the engine's */
	assert_int_equal(used_of(FM_MISS_ALL / 32, FM_MISS_ALL, 1000, 257),
			 100 + 65536);
	assert_int_equal(used_of(FM_MISS_ALL / 32, FM_MISS_ALL, 1000, 1),
			 100 + 32000); /* its bytes are not counted */
	assert_int_equal(used_of(FM_MISS_ALL / 64, FM_MISS_ALL / 32, 100, 657),
			 100 + 6400);
}

/* A file that is gone takes its counts along. */
static void what_is_gone_is_not_counted(void **state)
{
	const struct fm_totals a = { .ms = 1000, .loads = 900, .used = 5000,
				     .load_bytes = MIB };
	const struct fm_totals b = { .ms = 2000, .loads = 100, .used = 20,
				     .major = 7 };
	const struct fm_rate r = fm_rate_between(&a, &b);

	assert_int_equal(r.waits, 7);
	assert_int_equal(r.used, 0);
}

/* One that polls has a CPU for it, and is done no sooner for less to do. */
static void cpus_that_are_wanted(void **state)
{
	struct fm_rate r = { .cpu = 480, .engine = 1000 };

	assert_int_equal(fm_rate_cpu_wanted(&r, 2), 240);
	r.engine = 8000;
	assert_int_equal(fm_rate_cpu_wanted(&r, 2), 480);
	assert_int_equal(fm_rate_cpu_wanted(&r, 16), 240);
}

/* Of one wait that takes longer than the second nothing is counted. */
static void who_waits_still_has_lost(void **state)
{
	const struct fm_totals a = { .ms = 1000 };
	const struct fm_totals b = { .ms = 2000, .waiting = 2 };
	const struct fm_rate before = engine(4, 150, 900, 900);
	const struct fm_rate now = fm_rate_between(&a, &b);

	assert_int_equal(now.kernel, 2000);
	assert_false(fm_rate_kernel_better(&before, &now));
}

/* On a device where a wait takes 5 ms, and a page 100 us. */
static void what_the_device_takes(void **state)
{
	const struct fm_totals a = { .ms = 1000 };
	const struct fm_totals b = { .ms = 2000, .major = 100,
				     .read_bytes = 4 * MIB,
				     .read_ns = 5000000, .page_ns = 100000 };

	assert_int_equal(fm_rate_between(&a, &b).kernel, 500 + 102);
}

static void cpus_in_use(void **state)
{
	const struct fm_totals a = { .ms = 500, .cpu_ms = 100 };
	struct fm_totals b = { .ms = 1500, .cpu_ms = 850 };

	assert_int_equal(fm_rate_between(&a, &b).cpu, 750);
	assert_int_equal(fm_rate_between(&a, &a).cpu, 0);
	fm_totals_of_kernel(&b);
	for (volatile unsigned k = 0; b.cpu_ms < 5; k++)
		fm_totals_of_kernel(&b);
	assert_true(b.cpu_ms <= b.ms);
}

/* Two looks at the same moment divide by nothing. */
static void no_time(void **state)
{
	const struct fm_totals a = { .ms = 500, .major = 7,
				     .read_bytes = 9, .spent_ns = 11,
				     .faults = 13, .loads = 15 };
	struct fm_rate r = fm_rate_between(&a, &a);

	assert_int_equal(r.waits, 0);
	assert_true(r.kernel < fm_tune.serve_lost_much);
}

static void more_waits_are_better(void **state)
{
	struct fm_rate k = kernel(7000, 900, 880);
	struct fm_rate e = engine(17000, 66, 900, 890);

	assert_true(fm_rate_engine_better(&k, &e));
	e = engine(5000, 20, 900, 890);
	assert_false(fm_rate_engine_better(&k, &e));
}

/* Twice the waits, but three times as much is missing. */
static void not_where_more_is_missing(void **state)
{
	struct fm_rate k = kernel(8000, 31, 300);
	struct fm_rate e = engine(16000, 62, 900, 900);

	assert_false(fm_rate_engine_better(&k, &e));
	e.missing = 500;
	assert_true(fm_rate_engine_better(&k, &e));
}

static void who_reads_in_order_counts_bytes(void **state)
{
	struct fm_rate k = kernel(600, 1200, 900);
	struct fm_rate e = engine(500, 1400, 700, 900);

	assert_true(fm_rate_engine_better(&k, &e));
	e = engine(500, 1300, 700, 900);
	assert_false(fm_rate_engine_better(&k, &e)); /* as good as */
	e = engine(500, 900, 700, 900);
	assert_false(fm_rate_engine_better(&k, &e));
}

static void who_does_not_wait_is_better(void **state)
{
	struct fm_rate k = kernel(600, 1200, 900);
	struct fm_rate e = engine(3, 1, 10, 0);

	assert_true(fm_rate_engine_better(&k, &e));
}

/* What is not known is not better; what costs a quarter is. */
static void the_kernel_is_better(void **state)
{
	struct fm_rate e = engine(12000, 47, 950, 110);
	struct fm_rate k = kernel(12000, 47, 50);

	assert_true(fm_rate_kernel_better(&e, &k));
	assert_false(fm_rate_kernel_worse(&e, &k));
	k.missing = 105;
	assert_false(fm_rate_kernel_better(&e, &k));
	k.missing = 0;
	assert_false(fm_rate_kernel_better(&e, &k));
	k = kernel(1000, 4, 0);
	assert_true(fm_rate_kernel_better(&e, &k));
	k = kernel(11000, 43, 110);
	assert_true(fm_rate_kernel_worse(&e, &k));
}

static void trials_become_rare(void **state)
{
	assert_int_equal(fm_pause_ms(1), 60000);
	assert_int_equal(fm_pause_ms(2), 2 * 60000);
	assert_int_equal(fm_pause_ms(3), 4 * 60000);
	assert_int_equal(fm_pause_ms(99), 32 * 60000);
}

FM_UNIT(rate)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_lost),
		cmocka_unit_test(no_time),
		cmocka_unit_test(more_waits_are_better),
		cmocka_unit_test(not_where_more_is_missing),
		cmocka_unit_test(who_reads_in_order_counts_bytes),
		cmocka_unit_test(who_does_not_wait_is_better),
		cmocka_unit_test(waits_count_for_what_comes_along),
		cmocka_unit_test(what_the_kernel_brought_in_time),
		cmocka_unit_test(what_is_gone_is_not_counted),
		cmocka_unit_test(cpus_that_are_wanted),
		cmocka_unit_test(who_waits_still_has_lost),
		cmocka_unit_test(what_the_device_takes),
		cmocka_unit_test(cpus_in_use),
		cmocka_unit_test(the_kernel_is_better),
		cmocka_unit_test(trials_become_rare),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
