/* SPDX-License-Identifier: MIT */
/* What is held is there when the program has taken every mapping, whatever
 * lies beside it. */
#include "unit.h"

#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/sys.h"
#include "base/types.h"
#include "base/vma_room.h"

#define CHANGES 3
#define EACH 4 /* mappings that one change may need */

static bool one_more(size_t i)
{
	return !fm_is_err(fm_sys_far(FM_PAGE, i % 2 ? PROT_READ : PROT_NONE));
}

static size_t take_all(void)
{
	size_t n = 0;

	while (one_more(n))
		n++;
	return n;
}

/* In a process of its own, which has no mapping left afterwards. */
static int all_is_given(int prot_beside)
{
	struct fm_vma_room r;

	fm_sys_far(FM_PAGE, prot_beside);
	if (fm_vma_room_take(&r, CHANGES))
		return 1;
	fm_sys_far(FM_PAGE, prot_beside);
	take_all();
	for (int k = 0; k < CHANGES; k++)
		if (!fm_vma_room_give(&r) || take_all() < EACH)
			return 2;
	if (fm_vma_room_give(&r))
		return 3;
	fm_vma_room_end(&r);
	return fm_vma_room_take(&r, CHANGES) ? 0 : 4;
}

static void apart(int prot_beside)
{
	const pid_t p = fork();
	int status;

	assert_true(p >= 0);
	if (!p)
		_exit(all_is_given(prot_beside));
	assert_int_equal(waitpid(p, &status, 0), p);
	assert_int_equal(status, 0);
}

static void it_is_there_when_nothing_else_is(void **state)
{
	apart(PROT_NONE);
	apart(PROT_READ);
	apart(PROT_READ | PROT_WRITE);
}

FM_UNIT(vma_room)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(it_is_there_when_nothing_else_is),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
