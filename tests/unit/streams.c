/* SPDX-License-Identifier: MIT */
/* Which streams are read in huge pieces, and where. */
#include "unit.h"

#include <sys/mman.h>

#include "advise/advised.h"
#include "advise/krange.h"
#include "advise/streams.h"
#include "base/types.h"

#define ID 7
#define AT ((uintptr_t)1 << 40)
#define MIB ((uintptr_t)1 << 20)
#define MEMORY ((uint64_t)1 << 30)

static const struct fm_advised_use nothing;

/* A look that sees [start, start + len) of the range. */
static void look(uintptr_t start, uintptr_t len)
{
	fm_streams_touched(&(struct fm_row){ ID, AT + start, AT + start + len,
					     false });
	fm_streams_ahead(&nothing, MEMORY, true);
}

static bool reaches(uintptr_t start, uintptr_t len)
{
	return fm_streams_reach(ID, AT + start, AT + start + len);
}

static void backward(uintptr_t from)
{
	for (unsigned k = 0; k < 6; k++)
		look(from - k * 3 * MIB, 2 * MIB);
}

static void what_goes_down_is_sure_after_a_while(void **state)
{
	fm_streams_over();
	look(2048 * MIB, 2 * MIB);
	look(2045 * MIB, 2 * MIB);
	assert_false(reaches(1900 * MIB, 64 * MIB)); /* not yet */
	backward(2042 * MIB);
	assert_true(reaches(1900 * MIB, 64 * MIB));
	assert_false(reaches(1500 * MIB, 64 * MIB)); /* too far before it */
	assert_false(reaches(2048 * MIB, 64 * MIB)); /* passed */
	assert_false(fm_streams_reach(ID + 1, AT + 1900 * MIB,
				      AT + 1964 * MIB));
}

/* The device's read-ahead is not known, so it is taken for a large one. */
static void what_goes_up_is_the_kernels(void **state)
{
	fm_streams_over();
	for (unsigned k = 0; k < 8; k++)
		look(k * 3 * MIB, 2 * MIB);
	assert_false(reaches(64 * MIB, 64 * MIB));
}

static void what_is_over_reaches_nothing(void **state)
{
	fm_streams_over();
	backward(2048 * MIB);
	assert_true(reaches(1900 * MIB, 64 * MIB));
	fm_streams_ahead(&nothing, MEMORY, true); /* a look that sees nothing */
	assert_true(reaches(1900 * MIB, 64 * MIB));
	fm_streams_over();
	assert_false(reaches(1900 * MIB, 64 * MIB));
}

/* Records of 256 KiB here and there, downward. */
static void records_are_no_stream(void **state)
{
	fm_streams_over();
	for (unsigned k = 0; k < 64; k++)
		look(4000 * MIB - k * 53 * MIB, MIB / 4);
	for (unsigned k = 0; k < 4000; k += 64)
		assert_false(reaches(k * MIB, 64 * MIB));
}

/* The source tells them as they lie, with holes between. */
static void rows_of_a_look_are_one_step(void **state)
{
	fm_streams_over();
	for (unsigned k = 0; k < 6; k++) {
		const uintptr_t at = AT + (2048 - k * 6) * MIB;

		fm_streams_touched(&(struct fm_row){ ID, at, at + MIB, false });
		look(at - AT + 3 * MIB, 2 * MIB);
	}
	assert_true(reaches(1900 * MIB, 64 * MIB));
}

/* Two pieces for each stream have to have room. */
static void not_without_memory(void **state)
{
	fm_streams_over();
	backward(2048 * MIB);
	fm_streams_touched(&(struct fm_row){ ID, AT + 2030 * MIB,
					     AT + 2032 * MIB, false });
	fm_streams_ahead(&nothing, 16 * MIB, true);
	assert_false(reaches(1900 * MIB, 64 * MIB));
}

#define FILES ((uint64_t)1 << 46)
#define BEYOND ((uint64_t)1 << 45) /* no machine has that: it is short */
#define PASSES (32 * MIB)

static uint64_t cooled(uint64_t files, uint64_t memory)
{
	const uint64_t before = atomic_load(&fm_streams_counts.cold_bytes);

	fm_streams_behind(files, memory);
	return atomic_load(&fm_streams_counts.cold_bytes) - before;
}

/* But for 8 MiB behind it. */
static void what_is_passed_is_cooled_once(void **state)
{
	char *p = mmap(NULL, PASSES, PROT_READ, MAP_SHARED | MAP_ANONYMOUS, -1,
		       0);
	struct fm_krange r = { .start = (uintptr_t)p,
			       .end = (uintptr_t)p + PASSES, .shared = true };

	assert_ptr_not_equal(p, MAP_FAILED);
	fm_krange_add(&r);
	assert_true(fm_krange_first(r.start, r.end, &r));
	fm_streams_over();
	for (uintptr_t at = r.start; at < r.end; at += 4 * MIB) {
		fm_streams_touched(&(struct fm_row){ r.id, at, at + 4 * MIB,
						     false });
		fm_streams_ahead(&nothing, MEMORY, true);
	}
	assert_int_equal(cooled(MEMORY, MEMORY), 0); /* it fits */
	assert_in_range(cooled(FILES, BEYOND), PASSES / 2, PASSES - 8 * MIB);
	assert_int_equal(cooled(FILES, BEYOND), 0);
	fm_krange_forget(r.start, r.end);
	munmap(p, PASSES);
}

FM_UNIT(streams)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_goes_down_is_sure_after_a_while),
		cmocka_unit_test(what_goes_up_is_the_kernels),
		cmocka_unit_test(what_is_over_reaches_nothing),
		cmocka_unit_test(records_are_no_stream),
		cmocka_unit_test(rows_of_a_look_are_one_step),
		cmocka_unit_test(not_without_memory),
		cmocka_unit_test(what_is_passed_is_cooled_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
