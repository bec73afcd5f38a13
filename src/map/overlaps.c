/* SPDX-License-Identifier: MIT */
/* overlaps.c - what a hook asks first: is anything there ours? What is there
 * before a map, and after one, gives way. */
#include "base/types.h"
#include "engine.h"
#include "map.h"
#include "space.h"
#include "window_pool.h"

/* What is hidden is about to be something else, or the same again. */
static bool any_mapped(uintptr_t a, uintptr_t end)
{
	for (;;) {
		uint32_t before = fm_space_shown();
		uintptr_t at;

		if (fm_space_next(a, end, &at))
			return true;
		if (fm_space_hides(a, end)) {
			fm_space_may_wait();
			fm_space_wait_hidden(before);
		} else if (fm_space_locked() ||
			   fm_space_shown() == before) {
			return false;
		}
	}
}

FM_FAULT bool fm_fork_touch(uintptr_t addr, size_t len)
{
	fm_up_fork_touch *touch;

	if (!fm_placeholders_left())
		return false;
	touch = FM_UP_ONE(fork_touch);
	return touch && touch(addr, len);
}

bool fm_overlaps(const void *addr, size_t len)
{
	uintptr_t a = (uintptr_t)addr;

	if (!fm_active() || !fm_space_near(a, a + len))
		return false;
	fm_fork_touch(a, len);
	fm_window_avoid(a, len);
	return any_mapped(a, a + len);
}
