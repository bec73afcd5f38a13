/* SPDX-License-Identifier: MIT */
/*
 * madvise.c - madvise and posix_fadvise: what each advice means here.
 *
 *   NORMAL RANDOM SEQUENTIAL   readahead of the mapping: on, off, drop behind
 *   WILLNEED POPULATE_READ     read ahead, never more than the cache takes
 *   POPULATE_WRITE             as if each page had been stored to
 *   DONTNEED                   clean pages leave; dirty ones stay; private
 *                              copies are lost, as they are in the kernel
 *   COLD PAGEOUT               written back, then dropped
 *   FREE WIPEONFORK COLLAPSE   EINVAL, as for a file mapping
 *   REMOVE, DONTFORK, GUARD_*, unknown   the kernel's mapping takes over
 *   the rest                   accepted, without effect
 *
 * What the kernel's mapping would remember is noted by ranges, for when it
 * takes the place of ours (vma_advice.h).
 */
#include "base/epoch.h"
#include "cache/cache.h"
#include "engine.h"
#include "fault/fault.h"
#include "file/file.h"
#include "map/map.h"
#include "mapops.h"
#include "readahead/readahead.h"
#include "writeback/writeback.h"

#ifndef MADV_POPULATE_READ
#define MADV_POPULATE_READ 22 /* ABI: Linux 5.14 */
#define MADV_POPULATE_WRITE 23 /* ABI: Linux 5.14 */
#endif

struct span {
	uintptr_t start, end;
	int advice;
	uint32_t ahead; /* pages at most, of NORMAL and SEQUENTIAL; or 0 */
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
	struct fm_zap_batch *d = arg;

	if (!fm_page_trylock(p)) {
		fm_zap_now(d);
		fm_page_lock(p);
	}
	if ((fm_mode(m, i) & PM_PRESENT) && fm_pin_lets(fm_map_addr(m, i)))
		fm_zap_page(d, m, i);
	else
		fm_page_unlock(p);
}

static void madvise_drop_clean(struct fm_map *m, uint64_t i, void *arg)
{
	fm_zap_clean(arg, m, i);
}

static void drop_span(struct fm_map *m, uint64_t lo, uint64_t hi, bool write)
{
	struct fm_zap_batch d = { .n = 0 };

	if (m->shared && write)
		fm_wb_range(m->file, m->pgoff + lo, m->pgoff + hi, true);
	fm_map_each(m, lo, hi,
		    m->shared || write ? madvise_drop_clean : drop_private, &d);
	fm_zap_now(&d);
}

/* A mapping has one such advice: what is said of less than half of it would be
 * wrong of the rest, and streams are seen without it. */
static void note_advice(struct fm_map *m, uint64_t pages, const struct span *s)
{
	if (pages < (fm_map_pages(m) + 1) / 2)
		return;
	atomic_store(&m->advice, (uint8_t)s->advice);
	atomic_store(&m->file->said_random, s->advice == MADV_RANDOM);
	atomic_store(&m->ahead_most, s->ahead);
}

static int advise_map(struct fm_map *m, void *arg)
{
	struct span *s = arg;
	uint64_t lo, hi;

	bounds(m, s, &lo, &hi);
	if (fm_vma_advice_note(&m->modes->said, m->mbase + lo, m->mbase + hi,
			       s->advice))
		return -ENOMEM;
	switch (s->advice) {
	case MADV_NORMAL:
	case MADV_RANDOM:
	case MADV_SEQUENTIAL:
		note_advice(m, hi - lo, s);
		break;
	case MADV_WILLNEED:
		fm_ahead_want(m, lo, hi - lo, 0);
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

/* Faults would find nothing to do there. Not for ever in one epoch, which no
 * handler of the program may leave by a jump. */
static uint64_t madvise_resident(uintptr_t a, uintptr_t end, bool write)
{
	const uint8_t want = write ? PM_PRESENT | PM_WRITABLE : PM_PRESENT;
	const uint8_t look = want | PM_LAZY | PM_LOCKED;
	uint64_t first, i, stop;
	struct fm_map *m;

	FM_BLOCK_SIGNALS();
	FM_IN_EPOCH();
	m = fm_space_find(a);
	first = m ? (a - atomic_load(&m->start)) >> FM_PAGE_SHIFT : 0;
	stop = fm_least(first + FM_TOUCH_PAGES,
			first + ((end - a) >> FM_PAGE_SHIFT));
	stop = m ? fm_least(stop, fm_map_pages(m)) : 0;
	for (i = first; i < stop && (fm_mode(m, i) & look) == want; i++)
		;
	return i - first;
}

static int madvise_touch(uintptr_t a, bool write)
{
	uint64_t old;
	int res;

	fm_block_signals(&old);
	res = fm_fault((void *)a, write, 0);
	fm_restore_signals(&old);
	if (res == FM_FAULT_BUS)
		return -EFAULT;
	return res == FM_FAULT_FOREIGN && !fm_overlaps((void *)a, 1) ? -EAGAIN
								     : 0;
}

/* Fault page by page; pages beyond the end of the file are an error. -EAGAIN:
 * the page at *at is the kernel's now. */
static int populate(uintptr_t *at, uintptr_t end, bool write)
{
	while (*at < end) {
		uint64_t n = madvise_resident(*at, end, write);
		int err = n ? 0 : madvise_touch(*at, write);

		if (err)
			return err;
		*at += (n ? n : 1) << FM_PAGE_SHIFT;
	}
	return 0;
}

/* What begins at s->start: *ret_end is where it ends, true if it is ours, and
 * allows this. Begins to read ahead, in big transfers; the faults that follow
 * find most of it. Under the space lock. */
static int begin_populate(const struct span *s, bool write,
			  uintptr_t *ret_end, bool *ret_ours)
{
	struct span ahead = { s->start, s->end, MADV_WILLNEED, 0 };
	uintptr_t at = s->end;
	struct fm_map *m = fm_space_next(s->start, s->end, &at);
	int need = write ? PROT_WRITE : PROT_READ;

	*ret_ours = m && at == s->start;
	*ret_end = m ? at : s->end;
	if (!*ret_ours)
		return 0;
	if (atomic_load(&m->end) < s->end)
		ahead.end = atomic_load(&m->end);
	*ret_end = ahead.end;
	if (!(atomic_load(&m->prot) & need))
		return -EINVAL;
	if (!write)
		advise_map(m, &ahead);
	return 0;
}

/* [s->start, end) is ours. What exceeds `most` would only push itself out of
 * the cache again; but the kernel's answer about the end must stay the same. */
static int populate_ours(struct span *s, uintptr_t end, bool write,
			 uint64_t *most)
{
	uint64_t n = (end - s->start) >> FM_PAGE_SHIFT;
	uintptr_t stop = n > *most ? s->start + (*most << FM_PAGE_SHIFT) : end;
	uintptr_t last = end - FM_PAGE;
	int err = stop < end ? populate(&last, end, write) : 0;

	*most -= n > *most ? *most : n;
	if (!err)
		err = populate(&s->start, stop, write);
	if (!err)
		s->start = end;
	return err == -EAGAIN ? 0 : err;
}

static int populate_range(struct span *s, bool write)
{
	uint64_t most = fm_cache_limit() / 2, old;
	int err = 0;

	while (s->start < s->end && !err) {
		uintptr_t end;
		bool mine;

		fm_space_lock(&old);
		err = begin_populate(s, write, &end, &mine);
		fm_space_unlock(&old);
		if (!err && mine) {
			err = populate_ours(s, end, write, &most);
		} else if (!err) {
			err = fm_sys_madvise((void *)s->start, end - s->start,
					     s->advice);
			s->start = end;
		}
	}
	return err;
}

static int populate_huge(uintptr_t a)
{
	uintptr_t end = a + FM_HUGE;

	return populate(&a, end, false);
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
			err = populate_huge(a);
		if (!err)
			err = fm_collapse(a, false);
		if (err)
			last = err;
	}
	return last;
}

/* The last ones mean nothing here. */
static bool madvise_ours(int advice)
{
	switch (advice) {
	case MADV_NORMAL: case MADV_RANDOM: case MADV_SEQUENTIAL:
	case MADV_WILLNEED: case MADV_DONTNEED: case MADV_DONTNEED_LOCKED:
	case MADV_COLD: case MADV_PAGEOUT:
	case MADV_DOFORK: case MADV_MERGEABLE: case MADV_UNMERGEABLE:
	case MADV_HUGEPAGE: case MADV_NOHUGEPAGE: case MADV_DONTDUMP:
	case MADV_DODUMP: case MADV_KEEPONFORK:
		return true;
	default:
		return false;
	}
}

static int demote_span(void *addr, size_t len, enum fm_server_reason why)
{
	uintptr_t at;
	int err = 0;
	struct fm_map *m;

	fm_write_before((uintptr_t)addr, (uintptr_t)addr + len);
	FM_HOLD_SPACE();
	while (!err && (m = fm_space_next((uintptr_t)addr,
					  (uintptr_t)addr + len, &at)))
		err = fm_server_change(m->file, FM_SERVER_KERNEL, why);
	return err;
}

/* What is not ours in the range is the kernel's to advise, holes its to find:
 * they are an error that does not stop it. Under the space lock, for what is
 * ours may be demoted at any time. */
static int advise_span(struct span *s)
{
	uintptr_t at = s->start, from;
	int hole = 0, err;

	while (at < s->end) {
		struct fm_map *m = fm_space_next(at, s->end, &from);

		if (!m)
			from = s->end;
		err = from > at ? fm_sys_madvise((void *)at, from - at,
						 s->advice) : 0;
		if (err == -ENOMEM)
			hole = err;
		else if (err)
			return err;
		at = from;
		if (!m)
			break;
		err = advise_map(m, s);
		if (err)
			return err;
		at = atomic_load(&m->end);
	}
	return hole;
}

int fm_madvise(void *addr, size_t len, int advice)
{
	return fm_madvise_ahead(addr, len, advice, 0);
}

int fm_madvise_ahead(void *addr, size_t len, int advice, uint32_t ahead)
{
	struct span s = { (uintptr_t)addr, 0, advice, ahead };

	if (!fm_overlaps(addr, len) || (s.start & FM_PAGE_MASK))
		return fm_sys_madvise(addr, len, advice);
	s.end = fm_page_up(s.start + len);
	if (advice == MADV_FREE || advice == MADV_WIPEONFORK)
		return -EINVAL;
	if (advice == MADV_REMOVE && FM_UP_ONE(madvise_remove))
		return FM_UP_ONE(madvise_remove)(s.start, s.end);
	if (advice == MADV_COLLAPSE)
		return collapse_range(s.start, s.end);
	if (advice == MADV_POPULATE_READ || advice == MADV_POPULATE_WRITE)
		return populate_range(&s, advice == MADV_POPULATE_WRITE);
	if (!madvise_ours(advice)) {
		demote_span(addr, len, FM_WHY_MADVISE);
		return fm_sys_madvise(addr, len, advice);
	}
	if (advice == MADV_COLD || advice == MADV_PAGEOUT)
		fm_write_before(s.start, s.end);
	FM_HOLD_SPACE();
	if (advice == MADV_DONTNEED || advice == MADV_DONTNEED_LOCKED)
		fm_range_drain(s.start, s.end, FM_DRAIN_LOCKS);
	return advise_span(&s);
}

/* Advice on a descriptor, whoever's: as with the kernel it says nothing of how
 * mappings are read, and what they show stays. A backup of a database that runs
 * says SEQUENTIAL and DONTNEED of each file. */
int fm_file_advise(struct fm_file *f, off_t off, off_t len, int advice)
{
	uint64_t first = (uint64_t)off >> FM_PAGE_SHIFT;
	uint64_t stop = len ? ((uint64_t)off + (uint64_t)len) >> FM_PAGE_SHIFT :
			      UINT64_MAX;
	struct fm_map *m;

	if (advice != POSIX_FADV_WILLNEED)
		return 0;
	FM_HOLD_SPACE();
	fm_for_each_map(m, f) {
		uint64_t end = m->pgoff + fm_map_pages(m);
		uint64_t lo = first > m->pgoff ? first : m->pgoff;

		if (lo < stop && lo < end)
			fm_ahead_want(m, lo - m->pgoff,
				      fm_least(stop, end) - lo, 0);
	}
	return 0;
}
