/* SPDX-License-Identifier: MIT */
/* Small buffers for what is read ahead: as many as the cache's size allows. */
#include "unit.h"

#define fm_cache_limit played_limit
#include "../../src/cache/chunk_table.c"
#include "readahead/chunk_priv.h"

static uint64_t limit; /* pages */

uint64_t played_limit(void)
{
	return limit;
}

static struct fm_file file;
static struct fm_file_stats stats;

/* Takes chunks of n pages until there are no more. Pages in all. */
static uint64_t taken(uint64_t n)
{
	uint64_t k = 0;

	while (fm_chunk_get(&file, k * 2 * n, n))
		k++;
	return k * n;
}

static int begin(void **state)
{
	(void)state;
	fm_chunk_table_reset();
	return fm_chunk_table_start();
}

static void all_where_it_is_large(void **state)
{
	(void)state;
	limit = 1 << 20;
	assert_int_equal(taken(FM_CHUNK_PIECE),
			 FM_CHUNK_PIECES * FM_CHUNK_PIECE);
}

static void a_part_where_it_is_small(void **state)
{
	(void)state;
	limit = 2048;
	assert_true(taken(FM_CHUNK_PIECE) <= limit / 8 + FM_CHUNK_PIECE);
}

/* Strides bring pages by themselves, and want many at once. */
static void by_pages(void **state)
{
	(void)state;
	limit = 2048;
	assert_int_equal(taken(1), FM_CHUNK_PIECES);
}

/* However small: else nothing would be read ahead. */
static void one_at_least(void **state)
{
	(void)state;
	limit = 4;
	assert_int_equal(taken(FM_CHUNK_PIECE), FM_CHUNK_PIECE);
}

static void what_is_given_back_is_there(void **state)
{
	struct fm_chunk *c;

	(void)state;
	limit = 4;
	for (int k = 0; k < 1000; k++) {
		c = fm_chunk_get(&file, 0, FM_CHUNK_PIECE);
		assert_non_null(c);
		fm_chunk_release(c);
	}
}

/* What has landed for a reader is not thrown away for the same bytes. */
static void what_is_there_stays(void **state)
{
	static struct fm_map map = { .file = &file };
	struct fm_chunk *c;

	(void)state;
	limit = 4;
	file.st = &stats;
	c = fm_chunk_get(&file, 0, FM_CHUNK_PIECE);
	assert_non_null(c);
	c->stamp = 0; /* long ago */
	fm_chunk_set_state(c, CH_READY);
	fm_chunk_use(true);
	assert_int_equal(fm_chunk_read(&map, 0, FM_CHUNK_PIECE, true),
			 -EAGAIN);
	assert_int_equal(atomic_load(&c->state), CH_READY);
	fm_chunk_use(false);
}

/* What comes next is read up to it, and beyond it. */
static void what_is_there_is_passed_over(void **state)
{
	static struct fm_map map = { .file = &file };
	struct fm_chunk *c;
	uint64_t skip;

	(void)state;
	limit = 4;
	c = fm_chunk_get(&file, 100, FM_CHUNK_PIECE);
	assert_non_null(c);
	assert_int_equal(fm_chunk_uncovered(&map, 90, 400, &skip), 10);
	assert_int_equal(skip, 0);
	assert_int_equal(fm_chunk_uncovered(&map, 104, 400, &skip), 0);
	assert_int_equal(skip, FM_CHUNK_PIECE - 4);
	assert_int_equal(fm_chunk_uncovered(&map, 100 + FM_CHUNK_PIECE, 400,
					    &skip), 400);
	fm_chunk_release(c);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(all_where_it_is_large, begin),
		cmocka_unit_test_setup(a_part_where_it_is_small, begin),
		cmocka_unit_test_setup(by_pages, begin),
		cmocka_unit_test_setup(one_at_least, begin),
		cmocka_unit_test_setup(what_is_given_back_is_there, begin),
		cmocka_unit_test_setup(what_is_there_stays, begin),
		cmocka_unit_test_setup(what_is_there_is_passed_over, begin),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
