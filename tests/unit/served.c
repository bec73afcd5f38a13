/* SPDX-License-Identifier: MIT */
/* Who served a file: the last changes, with what either server cost then; and
 * what is said of the reasons. */
#include "unit.h"

#include <string.h>

#include "base/sys.h"
#include "file/file.h"
#include "serve/serve.h"

static struct fm_choice choice;
static struct fm_file_stats counts;
static struct fm_file f = { .choice = &choice, .st = &counts };

static int begin(void **state)
{
	memset(&counts, 0, sizeof(counts));
	f.choice = &choice;
	return 0;
}

static void change(unsigned n)
{
	atomic_store(&choice.cost_ns[FM_SERVER_ENGINE], 10 * n);
	atomic_store(&choice.cost_ns[FM_SERVER_KERNEL], 10 * n + 1);
	fm_served_file(&f, n % 2 ? FM_BY_ADVISED : FM_BY_ENGINE,
		       n % 2 ? FM_WHY_MEASURED : FM_WHY_SLOWER);
}

static void the_last_ones_are_kept_with_their_costs(void **state)
{
	const unsigned n = 25;
	struct fm_served s;

	for (unsigned i = 0; i <= n; i++)
		change(i);
	fm_served_read(&counts.served, &s);
	assert_int_equal(s.changes, n); /* the first one is none */
	for (unsigned i = n - FM_SERVED_CHANGES; i < n; i++) {
		const struct fm_served_change *c =
			&s.change[i % FM_SERVED_CHANGES];

		assert_int_equal(c->cost_ns[FM_SERVER_ENGINE], 10 * (i + 1));
		assert_int_equal(c->cost_ns[FM_SERVER_KERNEL],
				 10 * (i + 1) + 1);
		assert_int_equal(c->to, i % 2 ? FM_BY_ENGINE : FM_BY_ADVISED);
	}
}

static void a_file_of_which_nothing_is_known_has_no_costs(void **state)
{
	struct fm_served s = { .by = FM_BY_KERNEL }, ret;

	fm_served_begin(&s, FM_BY_ADVISED, FM_WHY_SHARED);
	fm_served_read(&s, &ret);
	assert_int_equal(ret.changes, 1);
	assert_int_equal(ret.change[0].cost_ns[FM_SERVER_ENGINE], 0);
	assert_int_equal(ret.change[0].cost_ns[FM_SERVER_KERNEL], 0);
}

static void who_goes_on_has_served_since_before(void **state)
{
	struct fm_served a, b;

	fm_served_file(&f, FM_BY_ENGINE, FM_WHY_NONE);
	fm_served_read(&counts.served, &a);
	fm_sys_sleep_us(5000);
	fm_served_file(&f, FM_BY_ENGINE, FM_WHY_NONE);
	fm_served_read(&counts.served, &b);
	assert_int_equal(a.by_since_ms, b.by_since_ms);
	fm_served_file(&f, FM_BY_ADVISED, FM_WHY_ASKED);
	fm_served_read(&counts.served, &b);
	assert_true(b.by_since_ms > a.by_since_ms);
}

/* Why the kernel: what passes has to be over some day. */
static void what_passes_says_when(void **state)
{
	for (enum fm_server_reason w = FM_WHY_DENIED; w < FM_WHY_OVER; w++)
		if (fm_server_reason_passes(w))
			assert_true(*fm_server_reason_until(w));
}

FM_UNIT(served)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup(the_last_ones_are_kept_with_their_costs,
				       begin),
		cmocka_unit_test(a_file_of_which_nothing_is_known_has_no_costs),
		cmocka_unit_test_setup(who_goes_on_has_served_since_before,
				       begin),
		cmocka_unit_test(what_passes_says_when),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
