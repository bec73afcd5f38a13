/* SPDX-License-Identifier: MIT */
/* Which files are brought whole when they go to the kernel: what goes together
 * has to fit together. */
#include "unit.h"

#include "vm/demote_pagecache.h"

#define MIB (1ull << 20)

static bool whole(enum fm_server_reason why, uint64_t together, uint64_t alone,
		  uint64_t memory)
{
	const struct fm_demote_request g = { why, together };

	return fm_resident_all(&g, alone, memory);
}

static void alone_or_together(void **state)
{
	assert_true(whole(FM_WHY_TRIED, 48 * MIB, 8 * MIB, 50 * MIB));
	assert_false(whole(FM_WHY_TRIED, 208 * MIB, 8 * MIB, 50 * MIB));
	assert_false(whole(FM_WHY_FITS, 208 * MIB, 8 * MIB, 50 * MIB));
	/* not counted: it goes alone, or came while they went */
	assert_true(whole(FM_WHY_TRIED, 0, 8 * MIB, 50 * MIB));
	assert_false(whole(FM_WHY_TRIED, 48 * MIB, 64 * MIB, 50 * MIB));
}

static void not_for_its_size(void **state)
{
	assert_false(whole(FM_WHY_OTHERS, 8 * MIB, 8 * MIB, 50 * MIB));
	assert_false(whole(FM_WHY_FITS, 8 * MIB, 8 * MIB, UINT64_MAX));
}

FM_UNIT(brought)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(alone_or_together),
		cmocka_unit_test(not_for_its_size),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
