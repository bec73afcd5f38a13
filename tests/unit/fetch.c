/* SPDX-License-Identifier: MIT */
/* What is asked for, in which pieces and order, and when no more is. */
#include "unit.h"

#include <stdbool.h>
#include <sys/mman.h>

/* fetch.c, with a kernel that notes what it is asked for, in the place of it.
 */
#include "base/sys.h"
#define fm_sys_madvise played_madvise
#define fm_in_memory played_in_memory
#define fm_fetch_begin played_begin
#define fm_fetch_run played_run
#define fm_fetch_fits played_fits
#define fm_fetch_chunk played_chunk
#define fm_fetch_depth played_depth
#include "map/map.h"

static uint64_t start[64], len[64];
static unsigned asked, come;

static int played_madvise(void *p, size_t n, int advice)
{
	start[asked % 64] = (uintptr_t)p;
	len[asked++ % 64] = n;
	return 0;
}

static bool page_came(uint64_t page)
{
	for (unsigned k = 0; k < come && k < 64; k++)
		if (page - start[k] < len[k])
			return true;
	return false;
}

bool played_in_memory(uintptr_t page)
{
	return page_came(page);
}

#include "readahead/fetch.c"

#define PIECE (128ul << 10)
#define AT (1ul << 40)

static void begin(struct fm_fetch *f, bool beside)
{
	asked = come = 0;
	fm_fetch_begin(f, -1, 0, beside);
}

static void in_pieces_from_the_near_end(void **state)
{
	struct fm_fetch_run r = { AT, AT + 5 * PIECE / 2 };
	struct fm_fetch f;

	begin(&f, false);
	assert_false(fm_fetch_run(&f, &r, 1000));
	assert_int_equal(asked, 3);
	assert_int_equal(start[0], AT);
	assert_int_equal(len[2], PIECE / 2);
	assert_int_equal(f.asked, 5 * PIECE / 2);
	r = (struct fm_fetch_run){ AT, AT + 5 * PIECE / 2 };
	begin(&f, false);
	f.down = true;
	assert_false(fm_fetch_run(&f, &r, 1000));
	assert_int_equal(start[0], AT + 3 * PIECE / 2);
	assert_int_equal(start[2], AT);
}

/* One that does not come is not waited for for ever. */
static void few_are_under_way_beside_others(void **state)
{
	struct fm_fetch_run r = { AT, AT + 60 * PIECE };
	struct fm_fetch f;
	unsigned before;

	begin(&f, true);
	assert_true(f.most > 1 && f.most < 60);
	assert_true(fm_fetch_run(&f, &r, 5));
	assert_int_equal(asked, f.most);
	come = 2;
	assert_true(fm_fetch_run(&f, &r, 5));
	assert_int_equal(asked, f.most + 2);
	before = asked;
	assert_true(fm_fetch_run(&f, &r, 300));
	assert_true(asked > before);
}

static void ends_in_time(void **state)
{
	struct fm_fetch_run r = { AT, AT + 60 * PIECE };
	struct fm_fetch f;

	begin(&f, false);
	f.until_ms = fm_now_ms();
	assert_true(fm_fetch_run(&f, &r, 1000));
	assert_int_equal(asked, 0);
}

FM_UNIT(fetch)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(in_pieces_from_the_near_end),
		cmocka_unit_test(few_are_under_way_beside_others),
		cmocka_unit_test(ends_in_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
