/* SPDX-License-Identifier: MIT */
#include "huge.h"

#include <string.h>

#include "base/lock.h"
#include "cache.h"
#include "file/file.h"
#include "map/map.h"
#include "standby.h"

#define UNIT FM_HUGE_PAGES

FM_FAULT bool fm_huge_fits(struct fm_map *m, uint64_t i)
{
	uintptr_t a = (uintptr_t)fm_map_addr(m, i);

	return !(a & (FM_HUGE - 1)) &&
	       !atomic_load(&m->vma_prot) &&
	       !(atomic_load(&m->prot) & PROT_WRITE) &&
	       i + UNIT <= fm_map_pages(m) && !atomic_load(&m->aliased);
}

FM_FAULT int fm_huge_install(struct fm_map *m, uint64_t i,
			     struct fm_frame *fr, bool hot)
{
	int err = -EBUSY;

	/* Again, now that the pages are locked: mprotect passes through. */
	if (fm_huge_fits(m, i))
		err = fm_frame_move(fm_map_addr(m, i), fr->mem);
	if (err == -EXDEV) { /* a part, or all: neither here nor there */
		fm_uffd_drop(fm_map_addr(m, i), FM_HUGE);
		fm_uffd_drop(fr->mem, FM_HUGE);
		fm_frame_gone(fr);
	}
	if (err)
		return err;
	fm_frame_gone(fr);
	fm_uffd_protect(fm_map_addr(m, i), FM_HUGE, true);
	fm_shares_come(m->file, m->pgoff + i, UNIT);
	for (uint64_t k = i; k < i + UNIT; k++)
		fm_mode_set(m, k, PM_PRESENT | PM_HUGE | PM_QUEUED |
					  (hot ? PM_MAIN : 0));
	fm_ghost_came_unit(m->file, m->pgoff + i);
	fm_cache_enqueue(m, i, hot, FM_ENTRY_UNIT);
	return 0;
}

static FM_FAULT void unlock_unit(struct fm_map *m, uint64_t i, uint64_t n)
{
	for (uint64_t k = i; k < i + n; k++)
		fm_page_unlock(fm_file_page(m->file, m->pgoff + k));
}

static FM_FAULT uint64_t trylock_unit(struct fm_map *m, uint64_t i)
{
	uint64_t k = 0;

	while (k < UNIT &&
	       fm_page_trylock(fm_file_page(m->file, m->pgoff + i + k)))
		k++;
	return k;
}

/* All 512 present, clean and idle? `huge`: as they were moved in; 0: one by
 * one. */
static FM_FAULT bool uniform(struct fm_map *m, uint64_t i, uint8_t huge)
{
	for (uint64_t k = i; k < i + UNIT; k++) {
		_Atomic uint8_t *p = fm_file_page(m->file, m->pgoff + k);

		if ((fm_mode(m, k) & (PM_PRESENT | PM_HUGE | PM_WRITABLE |
				      PM_COW | PM_LAZY)) !=
			    (PM_PRESENT | huge) ||
		    (fm_page_state(p) & (FP_DIRTY | FP_WB)))
			return false;
	}
	return true;
}

/* No unit any more: what is left of it is evicted page by page. */
static FM_FAULT void break_up(struct fm_map *m, uint64_t i)
{
	for (uint64_t k = i; k < i + UNIT; k++) {
		uint8_t mode = fm_mode(m, k) & (uint8_t)~(PM_HUGE | PM_QUEUED);

		fm_mode_set(m, k, mode);
		if (fm_mode_resident(mode))
			fm_cache_insert(m, k);
	}
}

/* All pages are locked. Pages that memory was won of. */
static FM_FAULT long evict_locked(struct fm_map *m, uint64_t i, bool keep)
{
	bool kept = keep && fm_standby_put(m, i);

	if (!kept) {
		fm_frame_take(m, i);
		fm_ghost_left_unit(m->file, m->pgoff + i);
	}
	for (uint64_t k = i; k < i + UNIT; k++)
		fm_mode_set(m, k, 0);
	fm_count(&m->file->st->evictions, UNIT);
	return kept ? 0 : (long)UNIT;
}

FM_FAULT long fm_huge_evict(struct fm_map *m, uint64_t i, bool keep)
{
	uint64_t got;
	long n;

	if (i >= fm_map_pages(m))
		return -EBUSY; /* split off just now: found there next time */
	if (i + UNIT > fm_map_pages(m))
		return 0; /* split through: its pages were queued one by one */
	if (fm_pinned(fm_map_addr(m, i), FM_HUGE))
		return -EBUSY;
	got = trylock_unit(m, i);
	if (got < UNIT) {
		unlock_unit(m, i, got);
		return -EBUSY;
	}
	if (i + UNIT > fm_map_pages(m) || !fm_map_current(m, i)) {
		unlock_unit(m, i, UNIT);
		return 0;
	}
	if (!uniform(m, i, PM_HUGE) || fm_pinned(fm_map_addr(m, i), FM_HUGE)) {
		break_up(m, i);
		unlock_unit(m, i, UNIT);
		return 0;
	}
	n = evict_locked(m, i, keep);
	unlock_unit(m, i, UNIT);
	fm_cache_uncharge(m->file, (uint64_t)n);
	return n;
}

/* ---- collapse ---------------------------------------------------------- */

static bool mostly_hot(struct fm_map *m, uint64_t i)
{
	unsigned hot = 0;

	for (uint64_t k = i; k < i + UNIT; k++)
		hot += (fm_mode(m, k) & PM_MAIN) != 0;
	return hot > UNIT / 2;
}

/* Everything is locked; who touches the pages now waits for that. */
static int huge_replace(struct fm_map *m, uint64_t i, struct fm_frame *fr)
{
	int err;

	memcpy(fr->mem, fm_map_addr(m, i), FM_HUGE);
	fm_uffd_drop(fm_map_addr(m, i), FM_HUGE);
	err = fm_huge_install(m, i, fr, mostly_hot(m, i));
	if (!err)
		return 0;
	for (uint64_t k = i; k < i + UNIT; k++)
		fm_mode_set(m, k, fm_mode(m, k) & (PM_QUEUED | PM_MAIN));
	fm_cache_uncharge(m->file, UNIT);
	return err;
}

static int collapse_into(struct fm_map *m, uint64_t i, struct fm_frame *fr)
{
	uint64_t got;
	int err = -EBUSY;

	if (fm_space_find((uintptr_t)fm_map_addr(m, i)) != m ||
	    !(atomic_load(&m->prot) & PROT_READ) || !fm_huge_fits(m, i) ||
	    atomic_load(&m->file->demote->frozen))
		return -EBUSY;
	got = trylock_unit(m, i);
	if (got == UNIT && uniform(m, i, 0) &&
	    !fm_pinned(fm_map_addr(m, i), FM_HUGE))
		err = huge_replace(m, i, fr);
	unlock_unit(m, i, got);
	return err;
}

bool fm_huge_loose(struct fm_map *m, uint64_t i)
{
	return uniform(m, i, 0);
}

int fm_huge_collapse(struct fm_map *m, uint64_t i)
{
	struct fm_frame *fr = fm_frame_get_huge();
	uint64_t mask;
	int err;

	if (!fr)
		return -ENOMEM;
	/* No mprotect meanwhile: the program's memory is read. */
	fm_space_lock(&mask);
	err = collapse_into(m, i, fr);
	fm_space_unlock(&mask);
	fm_frame_put(fr);
	return err;
}
