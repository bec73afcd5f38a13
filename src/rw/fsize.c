/* SPDX-License-Identifier: MIT */
/*
 * fsize.c - RLIMIT_FSIZE. It limits write(2), also ours, and says so by a
 * signal that kills; it does not limit stores to a mapping. What can be stored
 * to beyond it is the kernel's.
 */
#include <sys/resource.h>

#include "base/sys.h"
#include "engine.h"
#include "file/file.h"
#include "map/map.h"
#include "rw.h"
#include "vm/vm.h"

bool fm_beyond_fsize(uint64_t end)
{
	struct rlimit rl = { RLIM_INFINITY, RLIM_INFINITY };

	fm_sys4(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &rl);
	return end > rl.rlim_cur;
}

static bool fsize_is_beyond(struct fm_file *f, uint64_t limit)
{
	struct fm_map *m = atomic_load(&f->maps);
	bool large = m && (uint64_t)fm_file_size_now(f) > limit;

	for (; m; m = atomic_load(&m->file_next)) {
		uint64_t end = (m->pgoff + fm_map_pages(m)) << FM_PAGE_SHIFT;

		if (m->shared && m->maywrite && (large || end > limit))
			return true;
	}
	return false;
}

void fm_limit_fsize(uint64_t limit)
{
	FM_HOLD_SPACE();
	fm_demote_where(fsize_is_beyond, limit, FM_WHY_LIMIT);
}
