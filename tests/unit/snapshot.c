/* SPDX-License-Identifier: MIT */
/* A list of what grows while it is made has no more than it has room for, and
 * all that there was. */
#include "unit.h"

#include <errno.h>

#include "base/alloc.h"
#include "base/snapshot.h"

/* So many things, and after each walk so many more. */
struct growing {
	unsigned n, more, walks;
};

static void walk(struct fm_snapshot *s, void *arg)
{
	struct growing *g = arg;

	for (unsigned i = 0; i < g->n; i++)
		fm_snapshot_put(s, &i);
	g->n += g->more;
	g->walks++;
}

static void check(const struct fm_snapshot *s, unsigned n)
{
	const unsigned *list = s->list;

	assert_non_null(list);
	assert_int_equal(s->n, n);
	for (unsigned i = 0; i < n; i++)
		assert_int_equal(list[i], i);
	fm_free(s->list);
}

static void it_has_all(void **state)
{
	for (unsigned n = 0; n < 100; n++) {
		struct growing g = { .n = n };
		struct fm_snapshot s;

		assert_int_equal(fm_snapshot(&s, sizeof(n), walk, &g), 0);
		check(&s, n);
	}
}

static void it_has_what_came_meanwhile(void **state)
{
	for (unsigned more = 1; more < 50; more++) {
		struct growing g = { .n = more % 7, .more = more };
		struct fm_snapshot s;

		assert_int_equal(fm_snapshot(&s, sizeof(more), walk, &g), 0);
		assert_true(g.walks > 2);
		check(&s, more % 7 + (g.walks - 1) * more);
	}
}

/* What grows faster than it can be listed. */
static void it_gives_up(void **state)
{
	struct growing g = { .n = 3, .more = 1000 };
	struct fm_snapshot s;

	assert_int_equal(fm_snapshot(&s, sizeof(unsigned), walk, &g), -EAGAIN);
	assert_null(s.list);
	assert_int_equal(s.n, 0);
	assert_true(g.walks > 2 && g.walks < 20);
}

FM_UNIT(snapshot)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_has_all),
		cmocka_unit_test(it_has_what_came_meanwhile),
		cmocka_unit_test(it_gives_up),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
