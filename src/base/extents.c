/* SPDX-License-Identifier: MIT */
#include "extents.h"

#include <errno.h>
#include <linux/fs.h>

#include "sys.h"

#define EXTENTS 64 /* size: a call */

union extents {
	struct fiemap map;
	char room[sizeof(struct fiemap) +
		  EXTENTS * sizeof(struct fiemap_extent)];
};

/* Where to go on; `end`: that was all. */
static uint64_t extents_next(const struct fiemap *f, uint64_t end)
{
	const uint32_t n = f->fm_mapped_extents;
	const struct fiemap_extent *e = f->fm_extents + n - 1;

	return n < EXTENTS || (e->fe_flags & FIEMAP_EXTENT_LAST) ?
		       end : e->fe_logical + e->fe_length;
}

int fm_extents_find(int fd, uint64_t start, uint64_t end, int calls,
		    bool (*fn)(const struct fiemap_extent *e, void *arg),
		    void *arg)
{
	uint64_t at = start;

	for (int k = 0; k < calls && at < end; k++) {
		union extents f = { .map = { .fm_start = at,
					     .fm_length = end - at,
					     .fm_extent_count = EXTENTS } };
		int err = fm_sys_ioctl(fd, FS_IOC_FIEMAP, &f.map);

		if (err)
			return err;
		for (uint32_t i = 0; i < f.map.fm_mapped_extents; i++)
			if (fn(&f.map.fm_extents[i], arg))
				return 1;
		at = extents_next(&f.map, end);
	}
	return at < end ? -E2BIG : 0;
}
