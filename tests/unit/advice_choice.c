/* SPDX-License-Identifier: MIT */
/* Where a touch reads megabytes ahead of a file larger than memory, it begins
 * at MADV_RANDOM, and what is read in a row does not wait for long. */
#include "unit.h"

#include <sys/mman.h>
#include <sys/sysmacros.h>

#include "advise/advise.h"
#include "advise/advised.h"
#include "advise/advice_choice.h"
#include "advise/streams.h"
#include "base/types.h"
#include "engine.h"

#define MIB ((uintptr_t)1 << 20)
/* More than memory, in 32 segments. The thread sanitizer has room for less, and
 * by chance for more. */
#ifdef __SANITIZE_THREAD__
#define LEN ((uintptr_t)1 << 38)
#else
#define LEN ((uintptr_t)1 << 40)
#endif
#define SEGMENT (LEN / 32)
#define NOWHERE makedev(4000, 0) /* its read-ahead is taken for 8 MiB */

static uintptr_t base;
static struct fm_advised_all areas;

static void is_mapped(uintptr_t len)
{
	static ino_t ino; /* nobody knows it */
	const struct fm_krange r = { .start = base, .end = base + len,
				     .dev = NOWHERE, .ino = ++ino };

	fm_krange_forget(base, base + LEN);
	fm_krange_add(&r);
	assert_true(fm_advised_update(&areas));
	assert_int_equal(fm_advised_begin(&areas), 0);
}

static int begin(void **state)
{
	void *p = mmap(NULL, LEN, PROT_NONE,
		       MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);

	base = (uintptr_t)p;
	return p == MAP_FAILED;
}

static uint64_t random_segments(void)
{
	return atomic_load(&fm_advise_counts.random_bytes) / SEGMENT;
}

/* A read for each fault, or one that the kernel has read ahead for. */
static void look(uint64_t faults, uint64_t bytes)
{
	const struct fm_advised_use use = { .faults = faults, .major = faults,
					 .bytes = bytes, .ms = 3 };

	assert_int_equal(fm_advised_judge(&areas, &use, 1000), 0);
}

static void row(uintptr_t at, uintptr_t len)
{
	fm_advised_touched(&areas, base + at, base + at + len);
	look(len / FM_PAGE, len);
}

/* Far from each other, and from anything before. */
static void singles(unsigned n, uintptr_t at)
{
	for (unsigned k = 0; k < n; k++)
		fm_advised_touched(&areas, base + at + k * 64 * MIB,
				base + at + k * 64 * MIB + FM_PAGE);
}

static void what_is_larger_than_memory_begins_so(void **state)
{
	is_mapped(LEN);
	assert_int_equal(random_segments(), 32);
	assert_true(areas.guess);
}

static void three_pages_by_chance_are_no_row(void **state)
{
	fm_advised_touched(&areas, base + 25 * SEGMENT,
			base + 25 * SEGMENT + FM_PAGE);
	row(25 * SEGMENT + FM_PAGE, 3 * FM_PAGE);
	assert_int_equal(random_segments(), 32);
	assert_true(areas.guess);
}

static void where_a_row_comes_it_ends(void **state)
{
	row(9 * SEGMENT + SEGMENT / 2, 40 * FM_PAGE);
	assert_int_equal(random_segments(), 31);
	row(20 * SEGMENT - 100 * MIB, MIB / 4);
	assert_int_equal(random_segments(), 29); /* soon in the next */
}

/* Most touches are in the other segments, and cheap. */
static void touches_in_vain_are_felt(void **state)
{
	singles(2, 9 * SEGMENT);
	look(2, 16 * MIB);
	assert_int_equal(random_segments(), 29);
	singles(2, 2 * SEGMENT);
	look(2, 16 * MIB);
	assert_int_equal(random_segments(), 32);
}

static void a_row_among_them_has_its_part(void **state)
{
	for (unsigned k = 0; k < 4; k++) {
		singles(40, 2 * SEGMENT + k * SEGMENT);
		fm_advised_touched(&areas, base + 20 * SEGMENT + k * MIB / 4,
				base + 20 * SEGMENT + (k + 1) * MIB / 4);
		look(104, 104 * FM_PAGE);
	}
	assert_in_range(random_segments(), 30, 31);
}

static void what_is_known_stays_while_nothing_is_read(void **state)
{
	fm_advised_quiet(&areas, &(struct fm_advised_use){ .ms = 1000 });
	assert_in_range(random_segments(), 30, 31);
}

static void what_is_not_known_is_the_kernels_then(void **state)
{
	is_mapped(LEN);
	assert_int_equal(random_segments(), 32);
	fm_advised_quiet(&areas, &(struct fm_advised_use){ .ms = 999 });
	assert_true(areas.guess);
	fm_advised_quiet(&areas, &(struct fm_advised_use){ .ms = 1 });
	assert_int_equal(random_segments(), 0);
	assert_false(areas.guess);
}

static void what_fits_begins_as_the_kernel_does(void **state)
{
	is_mapped(16 * MIB);
	assert_int_equal(random_segments(), 0);
	assert_false(areas.guess);
}

static void so_does_what_is_mapped_while_all_is_read_in_order(void **state)
{
	is_mapped(LEN);
	row(0, 512 * MIB);
	is_mapped(LEN);
	assert_int_equal(random_segments(), 0);
}

static void a_child_finds_out_for_itself(void **state)
{
	fm_advised_forked(&areas);
	is_mapped(LEN);
	assert_int_equal(random_segments(), 32);
	assert_int_equal(areas.opinion.says, FM_ADVICE_UNKNOWN);
}

/* Two touches at borders of 256 KiB look like 64 pages. */
static void a_row_that_was_not_read_says_little(void **state)
{
	for (unsigned k = 0; k < 4; k++) {
		fm_advised_touched(&areas, base + k * SEGMENT,
				   base + k * SEGMENT + MIB / 4);
		look(2, 2 * FM_PAGE);
		assert_int_equal(areas.opinion.says, FM_ADVICE_UNKNOWN);
	}
}

/* Pages beside others for which 8 MiB each were read. */
static void what_is_read_beside_a_row_is_in_vain(void **state)
{
	row(0, 512 * MIB);
	assert_int_equal(areas.opinion.says, FM_ADVICE_NORMAL);
	for (unsigned k = 0; k < 8; k++) {
		fm_advised_touched(&areas, base + 512 * MIB + k * FM_PAGE,
				   base + 512 * MIB + (k + 1) * FM_PAGE);
		look(1, 8 * MIB);
	}
	assert_int_equal(areas.opinion.says, FM_ADVICE_RANDOM);
}

/* Part of it is the program's not to inherit, for a while. */
static void parts_that_join_know_their_own(void **state)
{
	const size_t half = 16 * SEGMENT;
	uint8_t was;

	is_mapped(LEN);
	fm_krange_said((void *)base, half, MADV_DONTFORK);
	assert_true(fm_advised_update(&areas));
	assert_int_equal(areas.n, 2);
	was = areas.v[0].seg[10].advice;
	assert_int_not_equal(was, FM_ADVICE_UNKNOWN);
	fm_krange_said((void *)base, half, MADV_DOFORK);
	assert_true(fm_advised_update(&areas));
	assert_int_equal(areas.n, 1);
	assert_int_equal(areas.v[0].seg[10].advice, was);
	assert_int_equal(areas.v[0].seg[20].advice, FM_ADVICE_UNKNOWN);
}

/* A look sees one page or none of who waits for each: of a third that comes as
 * the next one twice as many are asked for, and those count as they are passed.
 * What was complete within a look waits for nothing. */
static void what_comes_page_by_page_is_asked_for(void **state)
{
	const uint64_t before = atomic_load(&fm_streams_counts.bytes);
	const uintptr_t at = 27 * SEGMENT + SEGMENT / 2;

	fm_advised_forked(&areas);
	is_mapped(LEN);
	for (unsigned k = 0; k < 2; k++)
		row(at + k * FM_PAGE, FM_PAGE);
	assert_int_equal(atomic_load(&fm_streams_counts.bytes), before);
	row(at + 2 * FM_PAGE, FM_PAGE);
	assert_int_equal(atomic_load(&fm_streams_counts.bytes),
			 before + 6 * FM_PAGE);
	row(at + 9 * FM_PAGE, FM_PAGE); /* the next that was not */
	assert_int_equal(atomic_load(&fm_streams_counts.bytes),
			 before + 26 * FM_PAGE);
	assert_int_equal(random_segments(), 32);
	row(at + 30 * FM_PAGE, FM_PAGE);
	assert_int_equal(random_segments(), 31);
}

static void what_is_complete_in_a_look_is_not(void **state)
{
	const uint64_t before = atomic_load(&fm_streams_counts.bytes);

	for (unsigned k = 0; k < 4; k++)
		row(14 * SEGMENT + k * MIB, 5 * FM_PAGE);
	assert_int_equal(atomic_load(&fm_streams_counts.bytes), before);
}

FM_UNIT(advice_choice)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_larger_than_memory_begins_so),
		cmocka_unit_test(three_pages_by_chance_are_no_row),
		cmocka_unit_test(where_a_row_comes_it_ends),
		cmocka_unit_test(touches_in_vain_are_felt),
		cmocka_unit_test(a_row_among_them_has_its_part),
		cmocka_unit_test(what_is_known_stays_while_nothing_is_read),
		cmocka_unit_test(what_is_not_known_is_the_kernels_then),
		cmocka_unit_test(what_fits_begins_as_the_kernel_does),
		cmocka_unit_test(
			so_does_what_is_mapped_while_all_is_read_in_order),
		cmocka_unit_test(a_child_finds_out_for_itself),
		cmocka_unit_test(a_row_that_was_not_read_says_little),
		cmocka_unit_test(what_is_read_beside_a_row_is_in_vain),
		cmocka_unit_test(parts_that_join_know_their_own),
		cmocka_unit_test(what_comes_page_by_page_is_asked_for),
		cmocka_unit_test(what_is_complete_in_a_look_is_not),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
