/* SPDX-License-Identifier: MIT */
#include "pagecache_probe.h"

#include <sys/uio.h>

#include "base/sys.h"
#include "base/types.h"
#include "policy.h"
#include "tunables.h"

#define SYS_CACHESTAT 451 /* ABI: Linux 6.5 */
#define RWF_NOWAIT_ 8 /* ABI: absent from old headers */

struct cache_range {
	uint64_t off, len;
};
struct cache_stat {
	uint64_t cached, dirty, writeback, evicted, recently_evicted;
};

/* The part of [off, off + len) that lies in the file; len 0: none. */
static struct cache_range pagecache_probe_cut(const struct stat *st,
					      uint64_t off, uint64_t len)
{
	uint64_t size = (uint64_t)st->st_size;
	struct cache_range r = { off, off < size ? size - off : 0 };

	if (r.len > len)
		r.len = len;
	return r;
}

/* Where there is no such call it is asked for once: valgrind prints a warning
 * each time. */
static _Atomic bool no_cachestat;

/* Pages of the range; how many are cached in *ret. 0: cannot tell. */
static uint64_t count_cached(int fd, const struct cache_range *r, uint64_t *ret)
{
	struct cache_stat cs;
	long err;

	if (!r->len || atomic_load(&no_cachestat))
		return 0;
	err = fm_sys4(SYS_CACHESTAT, fd, r, &cs, 0);
	if (err == -ENOSYS)
		atomic_store(&no_cachestat, true);
	if (err)
		return 0;
	*ret = cs.cached;
	return (r->len + FM_PAGE_MASK) >> FM_PAGE_SHIFT;
}

uint64_t fm_pagecache_pages(int fd, const struct stat *st)
{
	struct cache_range r = { 0, (uint64_t)st->st_size };
	uint64_t cached = 0;

	count_cached(fd, &r, &cached);
	return cached;
}

bool fm_pagecache_window(int fd, const struct stat *st, uint64_t off,
			 uint64_t len)
{
	struct cache_range r = pagecache_probe_cut(st, off, len);
	uint64_t cached, pages = count_cached(fd, &r, &cached);

	return pages && cached >= pages;
}

/*
 * cachestat is refused to who may not write to the file (Linux 6.13), a server
 * that runs as nobody, say. Reads that do not wait are not: how many of some
 * pages, spread over the range, are cached? The first that is not is read by
 * the kernel all the same, and the last that is looked at. Of a range shorter
 * than so many pages some are looked at twice.
 */
static unsigned pagecache_probe_hits(int fd, const struct cache_range *r)
{
	const unsigned most = fm_tune.serve_nearly;
	unsigned n = 0;
	char c;
	struct iovec v = { &c, 1 };

	while (n < most &&
	       fm_sys6(SYS_preadv2, fd, (long)&v, 1,
		       (long)(r->off + r->len * (2 * n + 1) / (2 * most)), 0,
		       RWF_NOWAIT_) == 1)
		n++;
	return n;
}

static bool enough_hits(int fd, const struct cache_range *r, enum fm_warm warm)
{
	return r->len && fm_sys_may_ask() &&
	       pagecache_probe_hits(fd, r) >=
		       (warm == FM_WARM_KERNEL ? 1 : fm_tune.serve_nearly);
}

/* A file that hardly exists yet, mapped far beyond its end: that its first
 * pages are cached says nothing of what it is going to be. */
static bool to_be_written(const struct cache_range *r, uint64_t len)
{
	return r->len < fm_tune.pagecache_probe_grows &&
	       len - r->len >= fm_tune.pagecache_probe_grows;
}

/* Of a sparse file what it has blocks for is all that there is to read: holes
 * are on no device. One with hardly any is about to be written. Compressed
 * blocks are fewer than what they hold: a part is taken for all. */
static bool pagecache_probe_nearly_all(const struct stat *st, uint64_t pages,
				       uint64_t cached)
{
	const uint64_t has = (uint64_t)st->st_blocks * 512;

	if (has >= fm_tune.pagecache_probe_grows &&
	    has >> FM_PAGE_SHIFT < pages)
		pages = has >> FM_PAGE_SHIFT;
	return cached >= pages - pages / fm_tune.serve_nearly;
}

bool fm_pagecache_enough(int fd, const struct stat *st, uint64_t off,
			 uint64_t len, const struct fm_policy *p)
{
	struct cache_range r = pagecache_probe_cut(st, off, len);
	uint64_t pages, cached;

	/* The kernel then keeps all of the file: a small part of it decides
	 * nothing. */
	if (p->warm == FM_WARM_ENGINE ||
	    r.len < (uint64_t)st->st_size / fm_tune.serve_nearly)
		return false;
	if (p->warm == FM_WARM_AUTO && to_be_written(&r, len))
		return false;
	pages = count_cached(fd, &r, &cached);
	if (!pages)
		return enough_hits(fd, &r, p->warm);
	return p->warm == FM_WARM_KERNEL
		       ? cached > 0
		       : pagecache_probe_nearly_all(st, pages, cached);
}
