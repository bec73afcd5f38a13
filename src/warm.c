/* SPDX-License-Identifier: MIT */
#include "warm.h"

#include "policy.h"
#include "sys.h"
#include "types.h"

#define SYS_CACHESTAT 451 /* Linux 6.5 */

struct cache_range {
	uint64_t off, len;
};
struct cache_stat {
	uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

bool fm_warm_enough(int fd, const struct stat *st, const struct fm_policy *p)
{
	struct cache_range all = { 0, 0 };
	struct cache_stat cs;
	uint64_t pages = ((uint64_t)st->st_size + FM_PAGE_MASK) >>
			 FM_PAGE_SHIFT;

	if (p->warm == FM_WARM_ENGINE)
		return false;
	if (fm_sys4(SYS_CACHESTAT, fd, &all, &cs, 0))
		return false;
	if (p->warm == FM_WARM_KERNEL)
		return cs.cached > 0;
	return pages && cs.cached >= pages - pages / 16;
}
