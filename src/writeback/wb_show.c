/* SPDX-License-Identifier: MIT */
/*
 * wb_show.c - stores that others are about to hear of, shown without being
 * written.
 *
 * Who stores to the same few pages and sends word each time (a counter, the
 * state of a server) would have them written each time: that protects them
 * first, and so costs a system call of the device and a fault more, a fifth of
 * a millisecond. But who hears the word needs only the page cache. So what it
 * has of these pages already is overwritten there, by a store through the
 * kernel's mapping, and they stay dirty, and as they are, here. Whether they
 * have been stored to since is not known then: after some words they are
 * written, and if they stay clean the next words cost nothing.
 */
#include "wb_priv.h"

#include "base/epoch.h"
#include "map/map.h"
#include "tunables.h"
#include "writeback.h"

/* Page fp, which is locked, and what is in flight of it has ended: a direct
 * write must not meet its folio. */
static bool show_locked_page(struct fm_file *f, uint64_t fp, uint64_t size)
{
	const uint64_t off = fp << FM_PAGE_SHIFT;
	const uint8_t is = fm_page_state(fm_file_page(f, fp));
	uint64_t i, len;
	struct fm_map *m;

	if ((is & (FP_DIRTY | FP_WB | FP_CACHED)) != (FP_DIRTY | FP_CACHED) ||
	    off >= size)
		return false;
	m = fm_map_holder(f, fp, NULL, &i);
	len = fm_least(size - off, FM_PAGE);
	return m && fm_witness_store(f, off, fm_map_addr(m, i), len) ==
			    (long)len;
}

static bool show_page(struct fm_file *f, uint64_t fp, uint64_t size)
{
	_Atomic uint8_t *p = fm_file_page(f, fp);
	bool shown;

	if (!fm_page_trylock(p))
		return false;
	shown = show_locked_page(f, fp, size);
	fm_page_unlock(p);
	return shown;
}

/* A window of the kernel's mapping is made anew where pages are far apart. */
static bool lie_together(struct fm_file *f, uint64_t first)
{
	return fm_dirty_next(f, first + fm_tune.wb_show_reach,
			     FM_MAX_FILE_PAGES) >= FM_MAX_FILE_PAGES;
}

bool fm_wb_show(struct fm_file *f)
{
	uint64_t fp = fm_dirty_next(f, 0, FM_MAX_FILE_PAGES);
	uint64_t size;
	bool all = true;

	if (fm_dirty_count(f) > fm_tune.wb_show || !lie_together(f, fp) ||
	    atomic_fetch_add(&f->wb->shown, 1) >= fm_tune.wb_show_words) {
		atomic_store(&f->wb->shown, 0);
		return false;
	}
	FM_BLOCK_SIGNALS();
	FM_IN_EPOCH();
	size = (uint64_t)fm_file_size_now(f);
	for (; all && fp < FM_MAX_FILE_PAGES;
	     fp = fm_dirty_next(f, fp + 1, FM_MAX_FILE_PAGES))
		all = show_page(f, fp, size);
	return all;
}

/* As before a fork: what is written so has folios of its own. */
void fm_wb_ahead_cached(struct fm_file *f)
{
	const bool few = fm_dirty_count(f) <= fm_tune.wb_show;

	atomic_fetch_add(&f->demote->through, few);
	fm_wb_ahead(f, true);
	atomic_fetch_sub(&f->demote->through, few);
}
