/* SPDX-License-Identifier: MIT */
#include "warm.h"

#include "policy.h"
#include "sys.h"
#include "types.h"

#define SYS_CACHESTAT 451 /* Linux 6.5 */
#define PART 16

struct cache_range {
	uint64_t off, len;
};
struct cache_stat {
	uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

bool fm_warm_enough(int fd, const struct stat *st, uint64_t off, uint64_t len,
		    const struct fm_policy *p)
{
	uint64_t size = (uint64_t)st->st_size, pages;
	struct cache_range range = { off, len };
	struct cache_stat cs;

	if (p->warm == FM_WARM_ENGINE || off >= size)
		return false;
	if (len > size - off)
		range.len = size - off;
	/* The kernel then keeps all of the file: a small part of it decides
	 * nothing. */
	if (range.len < size / PART)
		return false;
	if (fm_sys4(SYS_CACHESTAT, fd, &range, &cs, 0))
		return false;
	if (p->warm == FM_WARM_KERNEL)
		return cs.cached > 0;
	pages = (range.len + FM_PAGE_MASK) >> FM_PAGE_SHIFT;
	return cs.cached >= pages - pages / 16;
}
