/* SPDX-License-Identifier: MIT */
/* Which pool makes room in a full cache, by shares, floors, priorities and
 * pins. */
#include "unit.h"

#include <string.h>
#include <time.h>
#include <unistd.h>

#include "cache/cache.h"
#include "cache/evict_queues.h"
#include "cache/probe.h"
#include "policy.h"

#define PAGES 800u /* of the cache: an eighth is 100 */
#define FILES 3

static struct fm_policy policy[FILES];
static struct fm_file file[FILES];
static struct fm_file_shares shares[FILES];
static struct fm_file_streaming streaming[FILES];

/* A cache of PAGES pages, files that are longer, no keys. */
static int begin(void **state)
{
	fm_evict_reset();
	fm_cache_resize((uint64_t)PAGES * FM_PAGE);
	for (int k = 0; k < FILES; k++) {
		policy[k] = (struct fm_policy){
			.cache_share = { .percent = 100 },
			.priority = FM_PRIORITY_NORMAL,
		};
		shares[k] = (struct fm_file_shares){ .policy = NULL };
		streaming[k] = (struct fm_file_streaming){ 0 };
		file[k] = (struct fm_file){ .size = PAGES * 2 * FM_PAGE,
					    .shares = &shares[k],
					    .streaming = &streaming[k] };
	}
	return 0;
}

/* Whoever has a pool gives it up, and what is counted. */
static int end(void **state)
{
	static const struct fm_policy plain = {
		.cache_share = { .percent = 100 },
		.priority = FM_PRIORITY_NORMAL,
	};

	for (int k = 0; k < FILES; k++) {
		fm_shares_apply(&file[k], &plain);
		assert_int_equal(file[k].shares->pool, FM_POOL_NORMAL);
		fm_cache_uncharge(&file[k], (uint64_t)fm_cache_of(&file[k]));
	}
	assert_int_equal(fm_cache_resident(), 0);
	fm_evict_reset();
	return 0;
}

/* File k goes by its policy, and has its pages [from, from + n). */
static void has_from(int k, uint64_t from, uint64_t n)
{
	fm_shares_apply(&file[k], &policy[k]);
	fm_cache_count(&file[k], n);
	for (uint64_t fp = from; fp < from + n; fp++)
		fm_evict_push(fm_evict_list(0, fm_shares_pool(&file[k], fp), 0,
					    false), fp);
}

static void has(int k, uint64_t n)
{
	has_from(k, 0, n);
}

/* A page of file k leaves. */
static void lose(int k, unsigned pool, unsigned n)
{
	uint64_t e;

	for (; n; n--) {
		assert_true(fm_evict_pop(fm_evict_list(0, pool, 0, false), &e));
		fm_cache_uncharge(&file[k], 1);
	}
}

static uint64_t most;

static unsigned victim(void)
{
	return fm_shares_victim(0, 1, 0, &most);
}

/* Before any file has keys, nothing is looked at. */
static void test_no_keys(void **state)
{
	has(0, PAGES);
	assert_int_equal(victim(), FM_POOL_NORMAL);
	assert_int_equal(fm_shares_victim(0, 1, 1 << FM_POOL_NORMAL, &most),
			 FM_EVICT_POOLS);
}

static void test_furthest_above_its_share(void **state)
{
	policy[0].cache_share = (struct fm_cache_part){ .percent = 25 };
	policy[1].cache_share = (struct fm_cache_part){ .bytes = 100 * 4096 };
	has(0, 300); /* 1.5 times */
	has(1, 160); /* 1.6 times */
	has(2, 340);
	assert_int_equal(victim(), file[1].shares->pool);
	lose(1, file[1].shares->pool, 20);
	assert_int_equal(victim(), file[0].shares->pool);
	lose(0, file[0].shares->pool, 100);
	assert_int_equal(victim(), file[1].shares->pool);
	/* It is dirty: the other one is asked, then who has no share. */
	assert_int_not_equal(
		fm_shares_victim(0, 1, 1ull << file[1].shares->pool, &most),
		FM_EVICT_POOLS);
	lose(1, file[1].shares->pool, 40);
	for (int k = 0; k < 100; k++)
		assert_true(victim() < FM_EVICT_POOLS);
}

/* A share of nothing is exceeded by any page, and holds up nobody. */
static void test_share_of_nothing(void **state)
{
	policy[0].cache_share = (struct fm_cache_part){ .bytes = 0 };
	has(0, 1);
	has(1, PAGES - 1);
	assert_int_equal(victim(), file[0].shares->pool);
	lose(0, file[0].shares->pool, 1);
	assert_int_equal(victim(), FM_POOL_NORMAL);
}

static void test_priorities(void **state)
{
	policy[0].priority = FM_PRIORITY_LOW;
	policy[2].priority = FM_PRIORITY_HIGH;
	has(0, 200);
	has(1, 300);
	has(2, 300);
	assert_int_equal(victim(), FM_POOL_LOW);
	lose(0, FM_POOL_LOW, 149);
	assert_int_equal(victim(), FM_POOL_LOW);
	lose(0, FM_POOL_LOW, 1); /* a sixteenth is left */
	assert_int_equal(victim(), FM_POOL_NORMAL);
	/* The low one may give the rest before a high one gives anything. */
	assert_int_equal(fm_shares_victim(0, 1, 1 << FM_POOL_NORMAL, &most),
			 FM_EVICT_POOLS);
	lose(1, FM_POOL_NORMAL, 300 - 50);
	assert_int_equal(victim(), FM_POOL_HIGH);
	lose(2, FM_POOL_HIGH, 300);
	assert_true(victim() < FM_EVICT_POOLS);
}

/* What comes by readahead leaves first, down to its part of the cache, but
 * for a few pages of others that are tried. */
static void test_streams(void **state)
{
	fm_shares_apply(&file[0], &policy[0]);
	fm_streaming_read(&file[0], 64);
	assert_true(fm_shares_of(&file[0]).streams);
	has(0, 100);
	has(1, 700);
	assert_int_equal(fm_evict_pages(0, FM_POOL_STREAMED), 100);
	assert_int_equal(victim(), FM_POOL_NORMAL);
	assert_in_range(most, 1, 16);
	fm_probe_left(most);
	assert_int_equal(victim(), FM_POOL_STREAMED);
	assert_int_equal(most, UINT64_MAX);
	lose(0, FM_POOL_STREAMED, 49);
	assert_int_equal(victim(), FM_POOL_STREAMED);
	/* It is dirty: others make room. */
	assert_int_equal(fm_shares_victim(0, 1, 1 << FM_POOL_STREAMED, &most),
			 FM_POOL_NORMAL);
	lose(0, FM_POOL_STREAMED, 1);
	assert_int_equal(victim(), FM_POOL_NORMAL);
	assert_int_equal(most, UINT64_MAX);
}

static bool streams_now(int k)
{
	return fm_shares_open(&file[k]) == FM_POOL_STREAMED;
}

/* By faults, by what comes back soon, and while others stream. */
static void test_streams_no_more(void **state)
{
	fm_shares_apply(&file[0], &policy[0]);
	fm_shares_apply(&file[1], &policy[1]);
	fm_streaming_read(&file[0], 63);
	assert_false(streams_now(0));
	fm_streaming_read(&file[0], 1);
	assert_true(streams_now(0));
	for (int k = 0; k < 64 / 8; k++)
		fm_streaming_fault(&file[0]);
	assert_false(streams_now(0));
	fm_streaming_back(&file[0], 32, true);
	fm_streaming_read(&file[0], 64);
	assert_false(streams_now(0));
	fm_streaming_back(&file[0], 64, false);
	fm_streaming_read(&file[0], 64);
	assert_true(streams_now(0));
	fm_streaming_read(&file[1], PAGES / 16);
	assert_false(streams_now(0));
}

static void next_period(void)
{
	const struct timespec half = { .tv_nsec = 501000000 };

	nanosleep(&half, NULL);
}

/* Twice as many while none comes back; few where they do. */
static void test_probe(void **state)
{
	uint64_t may, more, begin;

	do { /* again, if the period has ended meanwhile */
		next_period();
		begin = fm_now_ms();
		may = fm_probe_may();
		fm_probe_left(may);
		more = fm_probe_may();
	} while (fm_now_ms() - begin > 400);
	assert_int_equal(more, 0);
	next_period();
	assert_int_equal(fm_probe_may(), 2 * may);
	fm_probe_left(2 * may);
	fm_probe_back(may / 16);
	next_period();
	assert_int_equal(fm_probe_may(), 16);
}

/* Who streams takes nothing of a file that has no more than its floor. */
static void test_floor(void **state)
{
	policy[0].cache_floor = (struct fm_cache_part){ .percent = 50 };
	has(0, 400);
	has(1, 400);
	for (int k = 0; k < 399; k++) {
		assert_int_equal(victim(), FM_POOL_NORMAL);
		lose(1, FM_POOL_NORMAL, 1);
	}
	has(0, 1); /* above it: both, by what they have */
	assert_int_equal(victim(), file[0].shares->pool);
	assert_int_equal(fm_shares_of(&file[0]).floor, 400);
}

static void test_floors_are_scaled(void **state)
{
	policy[0].cache_floor = (struct fm_cache_part){ .percent = 100 };
	policy[1].cache_floor = (struct fm_cache_part){ .percent = 100 };
	has(0, 350);
	has(1, 350);
	has(2, 100);
	assert_in_range(fm_shares_of(&file[0]).floor, 348, 350);
	assert_in_range(fm_shares_of(&file[1]).floor, 348, 350);
	lose(0, file[0].shares->pool, 2);
	lose(1, file[1].shares->pool, 2);
	assert_int_equal(victim(), FM_POOL_NORMAL);
	lose(2, FM_POOL_NORMAL, 100); /* only they are left: no dead end */
	assert_true(victim() >= FM_POOL_OWN && victim() < FM_EVICT_POOLS);
}

/* A floor is not kept for pages that the file has not got. */
static void test_floor_of_a_short_file(void **state)
{
	policy[0].cache_floor = (struct fm_cache_part){ .percent = 100 };
	file[0].size = 10 * 4096 - 1;
	has(0, 10);
	assert_int_equal(fm_shares_of(&file[0]).floor, 10);
}

static void test_pins_leave_last(void **state)
{
	policy[0].pin = 500 * 4096;
	policy[1].priority = FM_PRIORITY_HIGH;
	has(0, 600); /* 100 of them are not pinned */
	has(1, 101);
	assert_int_equal(fm_evict_pages(0, FM_POOL_PINNED), 500);
	assert_int_equal(fm_shares_pool(&file[0], 499), FM_POOL_PINNED);
	assert_int_equal(fm_shares_pool(&file[0], 500), FM_POOL_NORMAL);
	assert_int_equal(victim(), FM_POOL_HIGH);
	lose(0, FM_POOL_NORMAL, 50);
	lose(1, FM_POOL_HIGH, 50);
	assert_int_equal(victim(), FM_POOL_HIGH);
	lose(1, FM_POOL_HIGH, 51);
	assert_int_equal(victim(), FM_POOL_PINNED);
}

/* What came within the minute stays pinned, and nothing that comes later. */
static void test_pinned_minute(void **state)
{
	policy[0].pin = FM_PIN_MINUTE;
	file[0].leaf = fm_sys_anon(FM_LEAVES * sizeof(*file[0].leaf));
	assert_int_equal(fm_file_grow_leaves(&file[0], 0, PAGES), 0);
	fm_shares_apply(&file[0], &policy[0]);
	fm_shares_come(&file[0], 60, 10);
	file[0].shares->since_ms -= 60000;
	fm_shares_come(&file[0], 100, 1);
	for (uint64_t fp = 0; fp < PAGES; fp++)
		assert_int_equal(fm_shares_pinned(&file[0], fp),
				 fp >= 60 && fp < 70);
	policy[0].pin = 0;
	assert_false(fm_shares_pinned(&file[0], 60));
}

/* More files than there are pools: by their priority. */
static void test_many_files(void **state)
{
	static struct fm_file many[FM_EVICT_POOLS];
	static struct fm_file_shares of[FM_EVICT_POOLS];
	const struct fm_policy all = { .cache_share = { .percent = 100 },
				       .priority = FM_PRIORITY_NORMAL };
	int fd = dup(2);

	policy[0].cache_share = (struct fm_cache_part){ .percent = 10 };
	policy[0].priority = FM_PRIORITY_HIGH;
	close(2); /* one line, which is expected */
	for (int k = 0; k < FM_EVICT_POOLS; k++) {
		many[k].shares = &of[k];
		fm_shares_apply(&many[k], &policy[0]);
	}
	dup2(fd, 2);
	close(fd);
	for (int k = 0; k < FM_EVICT_POOLS; k++)
		assert_int_equal(of[k].pool,
				 k < FM_EVICT_POOLS - FM_POOL_OWN ?
					 k + FM_POOL_OWN : FM_POOL_HIGH);
	for (int k = 0; k < FM_EVICT_POOLS; k++)
		fm_shares_apply(&many[k], &all);
}

#define ONE(fn) cmocka_unit_test_setup_teardown(fn, begin, end)

FM_UNIT(shares)
{
	const struct CMUnitTest tests[] = {
		ONE(test_no_keys), /* first */
		ONE(test_furthest_above_its_share),
		ONE(test_share_of_nothing),
		ONE(test_priorities),
		ONE(test_streams),
		ONE(test_streams_no_more),
		ONE(test_probe),
		ONE(test_floor),
		ONE(test_floors_are_scaled),
		ONE(test_floor_of_a_short_file),
		ONE(test_pins_leave_last),
		ONE(test_pinned_minute),
		ONE(test_many_files),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
