/* SPDX-License-Identifier: MIT */
#include "window_pool.h"

#include <sys/mman.h>
#include <sys/resource.h>

#include "base/life.h"
#include "base/sys.h"
#include "base/types.h"
#include "engine.h"
#include "file/file.h"
#include "map.h"
#include "space.h"
#include "uffd.h"

#define LAID ((size_t)2 << 20) /* size: laid at once */
#define LARGEST (LAID / 8) /* size: little is left over at the end */

/*
 * One for each protection: what has not been cut, as its first page's number
 * above ten bits for the number of pages; 0 when there is nothing. In one word,
 * because a fault takes it away without a lock. Who has taken pages out of the
 * word owns them.
 */
static _Atomic uint64_t rest[2];
static int owner; /* a child of a raw clone has the words, not the memory */

#define COUNT_BITS 10 /* bits: of a word, pages */
#define COUNT (((uint64_t)1 << COUNT_BITS) - 1) /* bits: all */

static inline uintptr_t window_pool_start_of(uint64_t word)
{
	return (uintptr_t)(word >> COUNT_BITS) << FM_PAGE_SHIFT;
}

static inline size_t window_pool_bytes_of(uint64_t word)
{
	return (size_t)(word & COUNT) << FM_PAGE_SHIFT;
}

static uint64_t window_pool_word_of(uintptr_t start, size_t bytes)
{
	return bytes ? ((uint64_t)start >> FM_PAGE_SHIFT << COUNT_BITS) |
			       (bytes >> FM_PAGE_SHIFT) : 0;
}

/* Counted as a mapping that lives, or the hooks would not look at all. */
static FM_FAULT bool release_window(_Atomic uint64_t *r, uint64_t word)
{
	if (!atomic_compare_exchange_strong(r, &word, 0))
		return false;
	atomic_fetch_sub(&fm_live_maps, 1);
	if (fm_sys_getpid() == owner)
		fm_sys_munmap((void *)window_pool_start_of(word),
			      window_pool_bytes_of(word));
	return true;
}

FM_FAULT bool fm_window_avoid(uintptr_t addr, size_t len)
{
	bool any = false;

	for (int k = 0; k < 2; k++) {
		uint64_t w = atomic_load(&rest[k]);

		/* Being cut at this moment: look again. */
		while (w &&
		       addr < window_pool_start_of(w) +
				       window_pool_bytes_of(w) &&
		       window_pool_start_of(w) < addr + len) {
			any |= release_window(&rest[k], w);
			w = atomic_load(&rest[k]);
		}
	}
	return any;
}

void fm_window_drop(void)
{
	fm_window_avoid(0, SIZE_MAX);
}

/* The memory has not come along. */
static void window_pool_forked(void)
{
	for (int k = 0; k < 2; k++)
		if (atomic_exchange(&rest[k], 0))
			atomic_fetch_sub(&fm_live_maps, 1);
}

/* The program's own limits must not count what it has not asked for. */
static bool limited(void)
{
	struct rlimit as = { 0, 0 }, data = { 0, 0 };

	return fm_sys4(SYS_prlimit64, 0, RLIMIT_AS, NULL, &as) ||
	       fm_sys4(SYS_prlimit64, 0, RLIMIT_DATA, NULL, &data) ||
	       as.rlim_cur != RLIM_INFINITY || data.rlim_cur != RLIM_INFINITY;
}

static bool window_pool_lay(_Atomic uint64_t *r, int prot)
{
	void *p;

	if (limited())
		return false;
	p = fm_sys_mmap(NULL, LAID, prot,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
	if (fm_is_err(p))
		return false;
	if (fm_uffd_lay(p, LAID)) {
		fm_sys_munmap(p, LAID);
		return false;
	}
	owner = fm_sys_getpid();
	fm_space_bounds((uintptr_t)p, (uintptr_t)p + LAID);
	atomic_fetch_add(&fm_live_maps, 1);
	atomic_store(r, window_pool_word_of((uintptr_t)p, LAID));
	return true;
}

void *fm_window_cut(size_t len, int prot)
{
	_Atomic uint64_t *r = &rest[!!(prot & PROT_WRITE)];
	uint64_t w = atomic_load(r);

	if (len > LARGEST || !(prot & PROT_READ))
		return NULL;
	for (;;) {
		if (window_pool_bytes_of(w) < len) {
			if (w)
				release_window(r, w);
			if (!window_pool_lay(r, prot))
				return NULL;
			w = atomic_load(r);
		} else if (atomic_compare_exchange_strong(
				   r, &w,
				   window_pool_word_of(
					   window_pool_start_of(w) + len,
					   window_pool_bytes_of(w) - len))) {
			if (window_pool_bytes_of(w) == len)
				atomic_fetch_sub(&fm_live_maps, 1);
			return (void *)window_pool_start_of(w);
		}
	}
}

FM_LIFE(window_pool, .level = FM_LIFE_MEMORY, .forked = window_pool_forked)
