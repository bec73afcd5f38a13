/* SPDX-License-Identifier: MIT */
/*
 * advise.c - madvise and posix_fadvise: what each advice means here.
 *
 *   NORMAL RANDOM SEQUENTIAL   map-ahead of the range: on, off, drop behind
 *   WILLNEED POPULATE_READ     read ahead, never more than the cache takes
 *   POPULATE_WRITE             as if each page had been stored to
 *   DONTNEED                   clean pages leave; dirty ones stay; private
 *                              copies are lost, as they are in the kernel
 *   COLD PAGEOUT               written back, then dropped
 *   FREE WIPEONFORK COLLAPSE   EINVAL, as for a file mapping
 *   REMOVE, DONTFORK, GUARD_*, unknown   the kernel's mapping takes over
 *   the rest                   accepted, without effect
 */
#include "ahead.h"
#include "cache.h"
#include "collapse.h"
#include "drop.h"
#include "engine.h"
#include "file.h"
#include "map.h"
#include "mapops.h"
#include "page.h"
#include "pin.h"
#include "space.h"
#include "uffd.h"
#include "wb.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22
#define MADV_POPULATE_WRITE 23
#endif
#ifndef MADV_DONTNEED_LOCKED
#define MADV_DONTNEED_LOCKED 24
#endif

struct span {
	uintptr_t start, end;
	int advice;
	int err;
};

static void bounds(struct fm_map *m, const struct span *s, uint64_t *lo,
		   uint64_t *hi)
{
	uintptr_t a = atomic_load(&m->start), e = atomic_load(&m->end);

	*lo = ((a > s->start ? a : s->start) - a) >> FM_PAGE_SHIFT;
	*hi = ((e < s->end ? e : s->end) - a) >> FM_PAGE_SHIFT;
}

static void drop_private(struct fm_map *m, uint64_t i, void *arg)
{
	_Atomic uint8_t *p = fm_file_page(m->file, m->pgoff + i);
	struct fm_drop *d = arg;

	if (!fm_page_trylock(p)) {
		fm_drop_now(d);
		fm_page_lock(p);
	}
	if ((fm_mode(m, i) & PM_PRESENT) &&
	    !fm_pinned(fm_map_addr(m, i), FM_PAGE))
		fm_drop_page(d, m, i);
	else
		fm_page_unlock(p);
}

static void drop_clean(struct fm_map *m, uint64_t i, void *arg)
{
	fm_cache_drop_clean(arg, m, i);
}

static void drop_span(struct fm_map *m, uint64_t lo, uint64_t hi, bool write)
{
	struct fm_drop d = { .n = 0 };

	if (m->shared && write)
		fm_wb_range(m->file, m->pgoff + lo, m->pgoff + hi, true);
	fm_map_each(m, lo, hi, m->shared || write ? drop_clean : drop_private,
		    &d);
	fm_drop_now(&d);
}

static int advise_map(struct fm_map *m, void *arg)
{
	struct span *s = arg;
	uint64_t lo, hi;

	bounds(m, s, &lo, &hi);
	switch (s->advice) {
	case MADV_NORMAL:
	case MADV_RANDOM:
	case MADV_SEQUENTIAL:
		atomic_store(&m->advice, (uint8_t)s->advice);
		break;
	case MADV_WILLNEED:
		fm_ahead_want(m, lo, hi - lo);
		break;
	case MADV_DONTNEED:
	case MADV_DONTNEED_LOCKED:
		drop_span(m, lo, hi, false);
		break;
	case MADV_COLD:
	case MADV_PAGEOUT:
		drop_span(m, lo, hi, true);
		break;
	}
	return 0;
}

/* Fault page by page; pages beyond the end of the file are an error. */
static int populate(uintptr_t a, uintptr_t end, bool write)
{
	for (; a < end; a += FM_PAGE) {
		uint64_t old;
		int res = FM_FAULT_RETRY;

		fm_block_signals(&old);
		if (fm_overlaps((void *)a, 1))
			res = fm_fault((void *)a, write);
		fm_restore_signals(&old);
		if (res == FM_FAULT_BUS)
			return -EFAULT;
	}
	return 0;
}

struct prot_check {
	bool write;
	uint64_t pages;
};

static int check_prot(struct fm_map *m, void *arg)
{
	struct prot_check *c = arg;
	int prot = atomic_load(&m->prot);

	c->pages += fm_map_pages(m);
	if (c->write)
		return prot & PROT_WRITE ? 0 : -EINVAL;
	return prot & PROT_READ ? 0 : -ENOMEM;
}

/* Reads ahead first, in big transfers; the faults that follow find most of
 * it. What exceeds the cache would only push itself out again. */
static int populate_range(uintptr_t a, uintptr_t end, bool write)
{
	struct prot_check c = { write, 0 };
	struct span s = { a, end, MADV_WILLNEED, 0 };
	uint64_t most = fm_cache_limit() / 2, old;
	int err;

	fm_space_lock(&old);
	err = fm_range_maps(a, end, check_prot, &c);
	if (!err && !write)
		fm_range_maps(a, end, advise_map, &s);
	fm_space_unlock(&old);
	if (err)
		return err;
	if (end - a > most << FM_PAGE_SHIFT) {
		/* The kernel's answer about the end must stay the same. */
		err = populate(end - FM_PAGE, end, write);
		end = a + (most << FM_PAGE_SHIFT);
	}
	return err ? err : populate(a, end, write);
}

/* The last error counts, as with the kernel. */
static int collapse_range(uintptr_t a, uintptr_t end)
{
	int err, last = 0;

	a = (a + FM_HUGE - 1) & ~(FM_HUGE - 1);
	if (a + FM_HUGE > end)
		return -EINVAL;
	for (; a + FM_HUGE <= end; a += FM_HUGE) {
		err = fm_collapse(a, true);
		if (!err)
			err = populate(a, a + FM_HUGE, false);
		if (!err)
			err = fm_collapse(a, false);
		if (err)
			last = err;
	}
	return last;
}

static bool inert(int advice)
{
	switch (advice) {
	case MADV_DOFORK: case MADV_MERGEABLE:
	case MADV_UNMERGEABLE: case MADV_HUGEPAGE: case MADV_NOHUGEPAGE:
	case MADV_DONTDUMP: case MADV_DODUMP: case MADV_KEEPONFORK:
		return true;
	default:
		return false;
	}
}

static bool ours(int advice)
{
	switch (advice) {
	case MADV_NORMAL: case MADV_RANDOM: case MADV_SEQUENTIAL:
	case MADV_WILLNEED: case MADV_DONTNEED: case MADV_DONTNEED_LOCKED:
	case MADV_COLD: case MADV_PAGEOUT:
		return true;
	default:
		return inert(advice);
	}
}

static int demote_span(void *addr, size_t len, const char *why)
{
	uintptr_t at;
	uint64_t old;
	int err = 0;
	struct fm_map *m;

	fm_space_lock(&old);
	while (!err && (m = fm_space_next((uintptr_t)addr,
					  (uintptr_t)addr + len, &at)))
		err = fm_demote_locked(m->file, why);
	fm_space_unlock(&old);
	return err;
}

int fm_madvise(void *addr, size_t len, int advice)
{
	struct span s = { (uintptr_t)addr, 0, advice, 0 };
	int err;
	uint64_t old;

	if (!fm_overlaps(addr, len) || (s.start & FM_PAGE_MASK))
		return fm_sys_madvise(addr, len, advice);
	s.end = (s.start + len + FM_PAGE_MASK) & ~FM_PAGE_MASK;
	if (advice == MADV_FREE || advice == MADV_WIPEONFORK)
		return -EINVAL;
	if (advice == MADV_COLLAPSE)
		return collapse_range(s.start, s.end);
	if (advice == MADV_POPULATE_READ || advice == MADV_POPULATE_WRITE)
		return populate_range(s.start, s.end,
				      advice == MADV_POPULATE_WRITE);
	if (!ours(advice)) {
		demote_span(addr, len, "madvise");
		return fm_sys_madvise(addr, len, advice);
	}
	/* Holes in the range are the kernel's to find; this advice has no
	 * effect on our memory. */
	err = fm_sys_madvise(addr, len, MADV_NORMAL);
	if (inert(advice))
		return err;
	fm_space_lock(&old);
	fm_range_maps(s.start, s.end, advise_map, &s);
	fm_space_unlock(&old);
	return err;
}

int fm_file_advise(struct fm_file *f, off_t off, off_t len, int advice)
{
	uint64_t first = (uint64_t)off >> FM_PAGE_SHIFT, old;
	uint64_t stop = len ? ((uint64_t)off + (uint64_t)len) >> FM_PAGE_SHIFT :
			      UINT64_MAX;
	struct fm_map *m;

	fm_space_lock(&old);
	for (m = atomic_load(&f->maps); m; m = atomic_load(&m->file_next)) {
		uint64_t end = m->pgoff + fm_map_pages(m);
		struct span s = { .advice = advice };

		if (first >= end || stop <= m->pgoff)
			continue;
		s.start = first > m->pgoff ?
				  (uintptr_t)fm_map_addr(m, first - m->pgoff) :
				  atomic_load(&m->start);
		s.end = stop < end ?
				(uintptr_t)fm_map_addr(m, stop - m->pgoff) :
				atomic_load(&m->end);
		/* Advice on the file must not cost a private mapping what was
		 * stored there. */
		if (!m->shared && advice == POSIX_FADV_DONTNEED)
			continue;
		/* POSIX_FADV_NORMAL..DONTNEED have the numbers of MADV_*. */
		if (advice != POSIX_FADV_NOREUSE && s.start < s.end)
			advise_map(m, &s);
	}
	fm_space_unlock(&old);
	return 0;
}
