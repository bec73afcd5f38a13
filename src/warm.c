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

/* [off, off + len) cut to the file, and what of it is cached. */
static bool look(int fd, const struct stat *st, struct cache_range *r,
		 uint64_t *ret_pages)
{
	uint64_t size = (uint64_t)st->st_size;
	struct cache_stat cs;

	if (r->off >= size)
		return false;
	if (r->len > size - r->off)
		r->len = size - r->off;
	if (fm_sys4(SYS_CACHESTAT, fd, r, &cs, 0))
		return false;
	*ret_pages = cs.cached;
	return true;
}

static uint64_t pages_in(uint64_t len)
{
	return (len + FM_PAGE_MASK) >> FM_PAGE_SHIFT;
}

bool fm_warm_window(int fd, const struct stat *st, uint64_t off, uint64_t len,
		    const struct fm_policy *p)
{
	struct cache_range r = { off, len };
	uint64_t cached;

	return p->warm != FM_WARM_ENGINE && look(fd, st, &r, &cached) &&
	       cached >= pages_in(r.len);
}

bool fm_warm_enough(int fd, const struct stat *st, uint64_t off, uint64_t len,
		    const struct fm_policy *p)
{
	struct cache_range r = { off, len };
	uint64_t cached, pages;

	/* The kernel then keeps all of the file: a small part of it decides
	 * nothing. */
	if (p->warm == FM_WARM_ENGINE || len < (uint64_t)st->st_size / PART ||
	    !look(fd, st, &r, &cached) ||
	    r.len < (uint64_t)st->st_size / PART)
		return false;
	if (p->warm == FM_WARM_KERNEL)
		return cached > 0;
	pages = pages_in(r.len);
	return cached >= pages - pages / 16;
}
