/* SPDX-License-Identifier: MIT */
#include "cache_account.h"

#include "base/sys.h"
#include "file.h"

static _Atomic uint64_t limit = 1024;
static _Atomic int64_t resident;

FM_FAULT uint64_t fm_cache_limit(void)
{
	return atomic_load_explicit(&limit, memory_order_relaxed);
}

FM_FAULT int64_t fm_cache_resident(void)
{
	return atomic_load_explicit(&resident, memory_order_relaxed);
}

void fm_cache_resize(uint64_t bytes)
{
	uint64_t pages = bytes >> FM_PAGE_SHIFT;

	atomic_store(&limit, pages < 4 ? 4 : pages);
}

FM_FAULT int64_t fm_cache_of(const struct fm_file *f)
{
	return atomic_load_explicit(&f->cached, memory_order_relaxed);
}

FM_FAULT void fm_cache_assign(struct fm_file *f, uint64_t n)
{
	atomic_fetch_add_explicit(&f->cached, (int64_t)n, memory_order_relaxed);
}

FM_FAULT int64_t fm_cache_count(struct fm_file *f, uint64_t n)
{
	if (f)
		fm_cache_assign(f, n);
	return atomic_fetch_add_explicit(&resident, (int64_t)n,
					 memory_order_relaxed) + (int64_t)n;
}

FM_FAULT void fm_cache_uncharge(struct fm_file *f, uint64_t n)
{
	if (!n)
		return;
	if (f)
		fm_cache_assign(f, -n);
	atomic_fetch_sub_explicit(&resident, (int64_t)n, memory_order_relaxed);
}

void fm_cache_count_reset(void)
{
	struct fm_file *f;

	atomic_store(&resident, 0);
	fm_for_each_file(f, id)
		atomic_store(&f->cached, 0);
}
