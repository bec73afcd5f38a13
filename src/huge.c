/* SPDX-License-Identifier: MIT */
#include "huge.h"

#include <string.h>

#include "cache.h"
#include "file.h"
#include "lock.h"
#include "map.h"
#include "page.h"
#include "pin.h"
#include "space.h"
#include "standby.h"
#include "uffd.h"

#define MAX_FRAMES (FM_FRAMES + FM_STANDBY)
#define SPARE 8 /* slots: units on their way in and out of standby */
#define UNIT FM_HUGE_PAGES

static struct fm_frame frames[MAX_FRAMES];
static struct fm_frame *full, *hollow;
static unsigned held, may_hold; /* frames with memory, without standby */
static _Atomic unsigned nfull;  /* on the list */
static struct fm_lock lock = FM_LOCK(FM_RANK_LEAF);
/* What a frame costs in fresh memory, and what copying out of it costs:
 * running means of what was measured. Where the host of a virtual machine has
 * taken back free memory, the first touch of 2 MiB takes milliseconds. */
static _Atomic uint64_t fresh_ns, copy_ns = 700000;
static _Atomic unsigned asked;
#define PROBE 32 /* of so many frames one is moved to see what it costs now */

/* ---- frames ------------------------------------------------------------ */

/* The right to have memory in one frame more. What is evicted may fill all;
 * a quarter is not filled with fresh memory, which costs its zeroing: another
 * thread is about to evict. */
static FM_FAULT bool hold(bool fresh)
{
	bool ok;

	fm_lock(&lock);
	ok = held < (fresh ? may_hold - may_hold / 4 : may_hold);
	held += ok;
	fm_unlock(&lock);
	return ok;
}

static FM_FAULT void unhold(void)
{
	fm_lock(&lock);
	held--;
	fm_unlock(&lock);
}

/* The memory of fr has gone elsewhere. */
static FM_FAULT void now_hollow(struct fm_frame *fr)
{
	if (!fr->standby)
		unhold();
	fr->full = fr->standby = false;
}

static FM_FAULT bool map_slot(struct fm_frame *fr)
{
	void *p = fm_sys_mmap(fr->mem, FM_HUGE, PROT_READ | PROT_WRITE,
			      MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED |
				      MAP_NORESERVE, -1, 0);

	fr->mapped = false;
	if (p != fr->mem)
		return false;
	fm_sys_madvise(p, FM_HUGE, MADV_HUGEPAGE);
	fm_sys_madvise(p, FM_HUGE, MADV_DONTFORK);
	return true;
}

/* Only what is registered can be moved to and from. */
static FM_FAULT bool register_slot(struct fm_frame *fr)
{
	fr->mapped = fm_uffd_register(fr->mem, FM_HUGE) == 0;
	return fr->mapped;
}

static FM_FAULT void learn(_Atomic uint64_t *mean, uint64_t ns)
{
	uint64_t old = atomic_load(mean);

	atomic_store(mean, old - old / 4 + ns / 4);
}

FM_FAULT void fm_huge_copied(uint64_t ns)
{
	learn(&copy_ns, ns);
}

FM_FAULT bool fm_huge_pays(void)
{
	return atomic_load(&nfull) > may_hold / 4 ||
	       atomic_load(&fresh_ns) <= atomic_load(&copy_ns) ||
	       atomic_fetch_add(&asked, 1) % PROBE == 0;
}

/* A fresh huge page: populated before it is registered, because a touch of
 * registered memory would be a fault of ours. */
static FM_FAULT bool refill(struct fm_frame *fr)
{
	uint64_t from = fm_now_ns();

	if (!map_slot(fr))
		return false;
	for (size_t at = 0; at < FM_HUGE; at += FM_PAGE)
		((volatile char *)fr->mem)[at] = 0;
	learn(&fresh_ns, fm_now_ns() - from);
	fr->full = register_slot(fr);
	return fr->full;
}

int fm_huge_start(unsigned n, unsigned standby)
{
	char *arena;
	uintptr_t a;

	may_hold = n < FM_FRAMES ? n : FM_FRAMES;
	standby += SPARE;
	n = may_hold + (standby < FM_STANDBY ? standby : FM_STANDBY);
	if (!may_hold || !fm_uffd_caps()->move || frames[0].mem)
		return 0;
	arena = fm_sys_far((n + 1) * FM_HUGE, PROT_NONE);
	if ((uintptr_t)arena >= (uintptr_t)-4095)
		return -ENOMEM;
	a = ((uintptr_t)arena + FM_HUGE - 1) & ~(FM_HUGE - 1);
	for (unsigned i = 0; i < n; i++) {
		frames[i].mem = (char *)a + i * FM_HUGE;
		frames[i].full = frames[i].mapped = false;
		fm_frame_put(&frames[i]);
	}
	return 0;
}

void fm_huge_reset(void)
{
	full = hollow = NULL;
	held = 0;
	atomic_store(&nfull, 0);
	for (int i = 0; i < MAX_FRAMES; i++)
		frames[i].mem = NULL;
	fm_lock_reset(&lock);
}

static FM_FAULT struct fm_frame *pop(struct fm_frame **list)
{
	struct fm_frame *fr;

	fm_lock(&lock);
	fr = *list;
	if (fr) {
		*list = fr->next;
		if (list == &full)
			atomic_fetch_sub(&nfull, 1);
	}
	fm_unlock(&lock);
	return fr;
}

FM_FAULT struct fm_frame *fm_frame_get(void)
{
	struct fm_frame *fr = pop(&full);

	if (fr || !hold(true))
		return fr;
	fr = pop(&hollow);
	if (fr && refill(fr))
		return fr;
	unhold();
	if (fr)
		fm_frame_put(fr);
	return NULL;
}

FM_FAULT struct fm_frame *fm_frame_get_hollow(void)
{
	struct fm_frame *fr = pop(&hollow);

	if (!fr || fr->mapped || (map_slot(fr) && register_slot(fr)))
		return fr;
	fm_frame_put(fr);
	return NULL;
}

/* From the cache to the transfers, if they may hold more memory. */
static FM_FAULT void end_standby(struct fm_frame *fr)
{
	if (!hold(false)) {
		fm_uffd_drop(fr->mem, FM_HUGE);
		fr->full = false;
	}
	fr->standby = false;
}

FM_FAULT bool fm_frame_fill(struct fm_frame *fr, struct fm_map *m, uint64_t i)
{
	int err = fm_uffd_move(fr->mem, fm_map_addr(m, i), FM_HUGE);

	if (err == -EXDEV)
		fm_uffd_drop(fr->mem, FM_HUGE);
	fr->full = err == 0;
	return fr->full;
}

FM_FAULT void fm_frame_put(struct fm_frame *fr)
{
	struct fm_frame **list;

	if (fr->standby)
		end_standby(fr);
	list = fr->full ? &full : &hollow;
	fm_lock(&lock);
	fr->next = *list;
	*list = fr;
	if (list == &full)
		atomic_fetch_add(&nfull, 1);
	fm_unlock(&lock);
}

/* ---- units ------------------------------------------------------------- */

FM_FAULT bool fm_huge_fits(struct fm_map *m, uint64_t i)
{
	uintptr_t a = (uintptr_t)fm_map_addr(m, i);

	return m->shared && !(a & (FM_HUGE - 1)) && !atomic_load(&m->vma_prot) &&
	       !(atomic_load(&m->prot) & PROT_WRITE) &&
	       i + UNIT <= fm_map_pages(m) && !atomic_load(&m->aliased);
}

FM_FAULT int fm_huge_install(struct fm_map *m, uint64_t i,
			     struct fm_frame *fr, bool hot)
{
	int err = -EBUSY;

	/* Again, now that the pages are locked: mprotect passes through. */
	if (fm_huge_fits(m, i))
		err = fm_uffd_move(fm_map_addr(m, i), fr->mem, FM_HUGE);
	if (err == -EXDEV) { /* a part has moved: neither here nor there */
		fm_uffd_drop(fm_map_addr(m, i), FM_HUGE);
		fm_uffd_drop(fr->mem, FM_HUGE);
		now_hollow(fr);
	}
	if (err)
		return err;
	now_hollow(fr);
	fm_uffd_protect(fm_map_addr(m, i), FM_HUGE, true);
	for (uint64_t k = i; k < i + UNIT; k++)
		fm_mode_set(m, k, PM_PRESENT | PM_HUGE | PM_QUEUED |
					  (hot ? PM_MAIN : 0));
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
				      PM_OWN)) != (PM_PRESENT | huge) ||
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
		if (mode & PM_PRESENT)
			fm_cache_insert(m, k);
	}
}

/* The memory goes to a hollow frame for the next transfer, or back to the
 * kernel. */
static FM_FAULT void take_memory(struct fm_map *m, uint64_t i)
{
	bool may = hold(false);
	struct fm_frame *fr = may ? fm_frame_get_hollow() : NULL;

	if (!fr || !fm_frame_fill(fr, m, i))
		fm_uffd_drop(fm_map_addr(m, i), FM_HUGE);
	if (may && !(fr && fr->full))
		unhold();
	if (fr)
		fm_frame_put(fr);
}

/* All pages are locked. Pages that memory was won of. */
static FM_FAULT long evict_locked(struct fm_map *m, uint64_t i, bool keep)
{
	bool kept = keep && fm_standby_put(m, i);

	if (!kept)
		take_memory(m, i);
	for (uint64_t k = i; k < i + UNIT; k++)
		fm_mode_set(m, k, 0);
	atomic_fetch_add_explicit(&m->file->st.evictions, UNIT,
				  memory_order_relaxed);
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
	fm_cache_uncharge((uint64_t)n);
	return n;
}

/* ---- collapse ---------------------------------------------------------- */

/* A frame whose memory surely is one huge page: besides those that transfers
 * may hold, for a moment, so it does not count with them. */
static struct fm_frame *get_huge(void)
{
	struct fm_frame *fr = pop(&hollow);

	if (!fr)
		return NULL;
	fr->standby = true;
	if (refill(fr) &&
	    fm_sys_madvise(fr->mem, FM_HUGE, MADV_COLLAPSE) == 0)
		return fr;
	fm_uffd_drop(fr->mem, FM_HUGE);
	now_hollow(fr);
	fm_frame_put(fr);
	return NULL;
}

static bool mostly_hot(struct fm_map *m, uint64_t i)
{
	unsigned hot = 0;

	for (uint64_t k = i; k < i + UNIT; k++)
		hot += (fm_mode(m, k) & PM_MAIN) != 0;
	return hot > UNIT / 2;
}

/* Everything is locked; who touches the pages now waits for that. */
static int replace(struct fm_map *m, uint64_t i, struct fm_frame *fr)
{
	int err;

	memcpy(fr->mem, fm_map_addr(m, i), FM_HUGE);
	fm_uffd_drop(fm_map_addr(m, i), FM_HUGE);
	err = fm_huge_install(m, i, fr, mostly_hot(m, i));
	if (!err)
		return 0;
	for (uint64_t k = i; k < i + UNIT; k++)
		fm_mode_set(m, k, fm_mode(m, k) & (PM_QUEUED | PM_MAIN));
	fm_cache_uncharge(UNIT);
	return err;
}

static int collapse_into(struct fm_map *m, uint64_t i, struct fm_frame *fr)
{
	uint64_t got;
	int err = -EBUSY;

	if (fm_space_find((uintptr_t)fm_map_addr(m, i)) != m ||
	    !(atomic_load(&m->prot) & PROT_READ) || !fm_huge_fits(m, i) ||
	    atomic_load(&m->file->frozen))
		return -EBUSY;
	got = trylock_unit(m, i);
	if (got == UNIT && uniform(m, i, 0) &&
	    !fm_pinned(fm_map_addr(m, i), FM_HUGE))
		err = replace(m, i, fr);
	unlock_unit(m, i, got);
	return err;
}

bool fm_huge_loose(struct fm_map *m, uint64_t i)
{
	return uniform(m, i, 0);
}

int fm_huge_collapse(struct fm_map *m, uint64_t i)
{
	struct fm_frame *fr = get_huge();
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
