/* SPDX-License-Identifier: MIT */
#include "install.h"

#include "base/sys.h"
#include "cache.h"
#include "map/map.h"

static FM_FAULT void now_present(struct fm_map *m, uint64_t i, bool store)
{
	uint8_t keep = fm_mode(m, i) & (PM_QUEUED | PM_MAIN);

	fm_mode_set(m, i, keep | PM_PRESENT | (store ? PM_WRITABLE : 0));
	fm_cache_insert(m, i);
}

FM_FAULT long fm_install(struct fm_map *m, uint64_t i, const void *src,
			 uint64_t n, bool store)
{
	long done = fm_uffd_copy(fm_map_addr(m, i), src, n << FM_PAGE_SHIFT,
				 !store && !fm_map_bare(m));

	if (done < 0)
		return done;
	for (long k = 0; k < done >> FM_PAGE_SHIFT; k++)
		now_present(m, i + (uint64_t)k, store);
	return done >> FM_PAGE_SHIFT;
}
