/* SPDX-License-Identifier: MIT */
/* What was hot of a file is written, and read again. */
#include "unit.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "warm/pages.h"
#include "warm/state.h"

#define UNIT FM_HUGE_PAGES
#define GIB_PAGES ((uint64_t)1 << 18)

static const struct fm_warm_head head = {
	.ino = 7, .born = 8, .size = 9 << 20, .mtime = -10, .saved = 11,
	.live = true, .path = "/data/index", .path_len = 11,
};

static uint8_t *buf;
static size_t len;

static void write_state(const struct fm_warm_pages *p)
{
	const size_t room = fm_warm_state_room(&head, p);

	free(buf);
	buf = malloc(room);
	assert_non_null(buf);
	len = fm_warm_state_write(&head, p, buf);
	assert_true(len <= room);
}

static void read_state(struct fm_warm_pages *ret)
{
	struct fm_warm_head h;

	assert_false(fm_warm_state_head(buf, len, &h));
	assert_false(fm_warm_state_pages(&h, buf, len, ret));
}

/* p comes back as it was; frees it. */
static void comes_back(struct fm_warm_pages *p)
{
	struct fm_warm_pages q;

	write_state(p);
	assert_false(fm_warm_pages_make(&q, p->n));
	read_state(&q);
	for (uint64_t i = 0; i < p->n; i++)
		assert_int_equal(fm_warm_level(p, i), fm_warm_level(&q, i));
	fm_warm_pages_free(p);
	fm_warm_pages_free(&q);
}

static struct fm_warm_pages pages(uint64_t n)
{
	struct fm_warm_pages p;

	assert_false(fm_warm_pages_make(&p, n));
	return p;
}

static void the_head_comes_back(void **state)
{
	struct fm_warm_pages p = pages(3);
	struct fm_warm_head h;

	write_state(&p);
	assert_false(fm_warm_state_head(buf, len, &h));
	assert_true(h.ino == 7 && h.born == 8 && h.size == 9 << 20);
	assert_true(h.mtime == -10 && h.saved == 11 && h.live);
	assert_int_equal(h.path_len, 11);
	assert_memory_equal(h.path, "/data/index", 11);
	fm_warm_pages_free(&p);
}

static void all_forms_come_back(void **state)
{
	struct fm_warm_pages p = pages(7 * UNIT + 5);

	for (uint64_t i = 0; i < UNIT; i++) {
		fm_warm_set(&p, i, FM_HOT_MAIN);                /* whole */
		fm_warm_set(&p, 2 * UNIT + i, i % 2);            /* bits */
		fm_warm_set(&p, 3 * UNIT + i, i % 4);            /* pairs */
		fm_warm_set(&p, 5 * UNIT + i, i < 9 ? 2 : i > 500); /* runs */
	}
	for (uint64_t i = 0; i < 5; i++)
		fm_warm_set(&p, 7 * UNIT + i, FM_HOT_PAST);
	comes_back(&p);
}

static void any_pages_come_back(void **state)
{
	srand(1);
	for (int round = 0; round < 200; round++) {
		struct fm_warm_pages p = pages(1 + (uint64_t)rand() % 5000);
		int rare = 1 + rand() % 200;

		for (uint64_t i = 0; i < p.n; i++)
			if (!(rand() % rare))
				fm_warm_set(&p, i, (unsigned)rand() % 4);
		comes_back(&p);
	}
}

static void a_gib_takes_few_kib(void **state)
{
	struct fm_warm_pages p = pages(GIB_PAGES);

	for (uint64_t i = 0; i < GIB_PAGES; i++)
		fm_warm_set(&p, i, FM_HOT_RESIDENT);
	write_state(&p);
	assert_true(len < 3 << 10);
	for (uint64_t i = 0; i < GIB_PAGES; i++)
		fm_warm_set(&p, i, i * 7 % 4);
	write_state(&p);
	assert_true(len < 67 << 10);
	fm_warm_pages_free(&p);
}

static void a_changed_byte_is_noticed(void **state)
{
	struct fm_warm_pages p = pages(2000);
	struct fm_warm_head h;

	for (uint64_t i = 0; i < p.n; i += 3)
		fm_warm_set(&p, i, FM_HOT_PAST);
	write_state(&p);
	for (size_t i = 0; i < len; i++) {
		buf[i] ^= 0x10;
		assert_int_equal(fm_warm_state_head(buf, len, &h), -EBADMSG);
		buf[i] ^= 0x10;
	}
	for (size_t n = 0; n < len; n++)
		assert_int_equal(fm_warm_state_head(buf, n, &h), -EBADMSG);
	fm_warm_pages_free(&p);
}

static void what_a_shorter_file_has_is_taken(void **state)
{
	struct fm_warm_pages p = pages(2000), q = pages(600);

	for (uint64_t i = 0; i < p.n; i++)
		fm_warm_set(&p, i, FM_HOT_RESIDENT);
	write_state(&p);
	read_state(&q);
	assert_int_equal(fm_warm_level(&q, 599), FM_HOT_RESIDENT);
	assert_int_equal(fm_warm_level(&q, 600), FM_HOT_NONE);
	fm_warm_pages_free(&p);
	fm_warm_pages_free(&q);
}

static void what_did_not_come_back_cools(void **state)
{
	struct fm_warm_pages p = pages(100), q = pages(100);
	uint64_t n[FM_HOT_LEVELS];

	fm_warm_set(&p, 1, FM_HOT_PAST);
	fm_warm_set(&p, 2, FM_HOT_RESIDENT);
	fm_warm_set(&p, 99, FM_HOT_MAIN);
	fm_warm_set(&q, 99, FM_HOT_MAIN);
	fm_warm_merge(&q, &p, 1);
	fm_warm_count(&q, n);
	assert_true(n[FM_HOT_PAST] == 1 && n[FM_HOT_MAIN] == 1);
	assert_int_equal(fm_warm_level(&q, 2), FM_HOT_PAST);
	fm_warm_pages_free(&p);
	fm_warm_pages_free(&q);
}

FM_UNIT(warm_state)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_head_comes_back),
		cmocka_unit_test(all_forms_come_back),
		cmocka_unit_test(any_pages_come_back),
		cmocka_unit_test(a_gib_takes_few_kib),
		cmocka_unit_test(a_changed_byte_is_noticed),
		cmocka_unit_test(what_a_shorter_file_has_is_taken),
		cmocka_unit_test(what_did_not_come_back_cools),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
