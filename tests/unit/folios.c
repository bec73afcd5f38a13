/* SPDX-License-Identifier: MIT */
/* Clean pages of a range leave, and those of what is not ours any more stay. */
#include "unit.h"

#include <sys/mman.h>
#include <unistd.h>

#include "advise/advise.h"
#include "advise/folios.h"
#include "base/types.h"
#include "filled.h"

#define LEN (4 * FM_HUGE)
#define PAGES (LEN / FM_PAGE)

static char *p;

static void touch_all(void)
{
	for (size_t i = 0; i < LEN; i += FM_PAGE)
		*(volatile char *)(p + i);
}

static unsigned resident(void)
{
	return filled_resident(p, PAGES);
}

static int begin(void **state)
{
	char name[] = "folios.XXXXXX";
	int fd = filled_file(name, PAGES);

	if (fd < 0)
		return -1;
	p = mmap(NULL, LEN, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
	close(fd);
	return p == MAP_FAILED;
}

static uint32_t ranges_id(void)
{
	struct fm_krange r = { .start = (uintptr_t)p, .end = (uintptr_t)p + LEN,
			       .dev = 1, .ino = 1, .shared = true };

	fm_krange_add(&r);
	assert_true(fm_krange_first(r.start, r.end, &r));
	return r.id;
}

/* As many turns as it takes: each ends after a while. */
static void leave(uint32_t id)
{
	fm_folios_leave(id, (uintptr_t)p, (uintptr_t)p + LEN);
	for (unsigned i = 0; i < PAGES; i++)
		fm_folios_turn();
}

static bool kernel_can(void)
{
	touch_all();
	return !madvise(p, LEN, MADV_PAGEOUT) && !resident();
}

static void clean_pages_leave(void **state)
{
	const uint32_t id = ranges_id();

	if (!kernel_can()) /* memory of tmpfs, or an older kernel */
		skip();
	touch_all();
	leave(id);
	assert_true(resident() < PAGES / 2);
}

static void those_of_others_stay(void **state)
{
	const uint32_t id = ranges_id();

	touch_all();
	fm_krange_forget((uintptr_t)p, (uintptr_t)p + LEN);
	leave(id);
	/* but for what somebody else's want of memory takes */
	assert_true(resident() > PAGES / 2);
}

FM_UNIT(folios)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(clean_pages_leave),
		cmocka_unit_test(those_of_others_stay),
	};

	return cmocka_run_group_tests(tests, begin, NULL);
}
