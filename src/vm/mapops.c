/* SPDX-License-Identifier: MIT */
/*
 * mapops.c - munmap, mprotect, msync, mremap and friends on managed ranges.
 * Each cuts the mappings at the borders first, so that the rest deals with
 * whole mappings only.
 */
#include "mapops.h"

#include <string.h>

#include "base/alloc.h"
#include "cache/cache.h"
#include "engine.h"
#include "file/file.h"
#include "map/map.h"
#include "readahead/readahead.h"
#include "unmap_cache.h"
#include "writeback/writeback.h"

static uintptr_t page_up(uintptr_t a)
{
	return (a + FM_PAGE_MASK) & ~FM_PAGE_MASK;
}

static bool bad_range(const void *addr, size_t len)
{
	uintptr_t a = (uintptr_t)addr;

	return (a & FM_PAGE_MASK) || a + len < a || page_up(a + len) < a;
}

/* ---- cutting and walking ---------------------------------------------- */

static int cut_at(uintptr_t at)
{
	struct fm_map *m = fm_space_find(at);
	uint64_t i;

	if (!m || atomic_load(&m->start) == at)
		return 0;
	i = (at - atomic_load(&m->start)) >> FM_PAGE_SHIFT;
	return fm_map_split(m, i) ? 0 : -ENOMEM;
}

int fm_range_cut(uintptr_t start, uintptr_t end)
{
	int err = cut_at(start);

	return err ? err : cut_at(end);
}

int fm_range_maps(uintptr_t start, uintptr_t end, fm_map_fn fn, void *arg)
{
	uintptr_t at;
	struct fm_map *m;

	while ((m = fm_space_next(start, end, &at)) != NULL) {
		int err;

		start = atomic_load(&m->end);
		err = fn(m, arg);
		if (err)
			return err;
	}
	return 0;
}

static int count_map(struct fm_map *m, void *arg)
{
	(void)m;
	++*(size_t *)arg;
	return 0;
}

static int add_map(struct fm_map *m, void *arg)
{
	struct fm_list *l = arg;

	l->v[l->n++] = m;
	return 0;
}

/* The mappings of a range, to go on with after the radix forgets them. */
int fm_range_list(uintptr_t start, uintptr_t end, struct fm_list *l)
{
	size_t n = 0;

	fm_range_maps(start, end, count_map, &n);
	l->n = 0;
	l->v = fm_alloc((n + 1) * sizeof(*l->v));
	if (!l->v)
		return -ENOMEM;
	return fm_range_maps(start, end, add_map, l);
}

int fm_list_each(const struct fm_list *l, fm_map_fn fn, void *arg)
{
	int err = 0;

	for (size_t k = 0; k < l->n && !err; k++)
		err = fn(l->v[k], arg);
	return err;
}

/* ---- whole-mapping page locks ------------------------------------------ */

static void lock_idle(struct fm_map *m, uint64_t i, void *arg)
{
	_Atomic uint8_t *p = fm_file_page(m->file, m->pgoff + i);

	(void)arg;
	fm_page_lock_idle(p);
	/* Seen by unlock_touched even if nothing was ever mapped here. */
	fm_mode_set(m, i, fm_mode(m, i) | PM_LOCKED);
}

static void unlock_touched(struct fm_map *m, uint64_t i, void *arg)
{
	(void)arg;
	if (!(fm_mode(m, i) & PM_LOCKED))
		return;
	fm_mode_set(m, i, fm_mode(m, i) & (uint8_t)~PM_LOCKED);
	fm_page_unlock(fm_file_page(m->file, m->pgoff + i));
}

void fm_map_lock_part(struct fm_map *m, uint64_t lo, uint64_t hi)
{
	fm_map_each(m, lo, hi, lock_idle, NULL);
}

void fm_map_unlock_part(struct fm_map *m, uint64_t lo, uint64_t hi)
{
	fm_map_each(m, lo, hi, unlock_touched, NULL);
}

static void lock_pages(struct fm_map *m)
{
	fm_map_lock_part(m, 0, fm_map_pages(m));
}

void fm_map_unlock_pages(struct fm_map *m)
{
	fm_map_unlock_part(m, 0, fm_map_pages(m));
}

/* ---- munmap ----------------------------------------------------------- */

/* Dirty pages that only m holds must be in the file before m goes. */
int fm_map_flush(struct fm_map *m, void *arg)
{
	(void)arg;
	if (!m->shared)
		return 0;
	return fm_wb_range(m->file, m->pgoff, m->pgoff + fm_map_pages(m),
			   true);
}

static void clear_page(struct fm_map *m, uint64_t i, void *arg)
{
	uint8_t mode = fm_mode(m, i);
	_Atomic uint8_t *p = fm_file_page(m->file, m->pgoff + i);
	uint64_t j;

	(void)arg;
	if (!(mode & PM_LOCKED))
		return;
	if (fm_mode_charged(mode))
		fm_cache_uncharge(1);
	fm_mode_set(m, i, 0);
	if (m->shared && (fm_page_state(p) & FP_DIRTY) &&
	    !fm_map_holder(m->file, m->pgoff + i, m, &j)) {
		/* Its write-back failed for good: the data goes with the
		 * memory, as when the kernel drops a failed page. */
		fm_page_set(p, 0, FP_DIRTY);
		fm_dirty_clear(m->file, m->pgoff + i);
	}
	fm_page_unlock(p);
}

/* Stored to between the flush and the lock. */
static void flush_locked(struct fm_map *m)
{
	uint64_t end = m->pgoff + fm_map_pages(m);
	uint64_t fp = fm_dirty_next(m->file, m->pgoff, end);

	for (; fp < end; fp = fm_dirty_next(m->file, fp + 1, end))
		if (fm_mode(m, fp - m->pgoff) & PM_LOCKED)
			fm_wb_locked_page(m->file, fp, true);
}

/* Hidden first, then locked: a fault that still saw the mapping has marked
 * its page as touched and holds its lock, one that comes later looks again
 * under the lock and finds nothing. */
int fm_map_hide(struct fm_map *m, void *arg)
{
	(void)arg;
	fm_space_hiding(atomic_load(&m->start), atomic_load(&m->end));
	fm_space_set(atomic_load(&m->start), atomic_load(&m->end), NULL);
	fm_ahead_forget(m);
	return 0;
}

int fm_map_lock(struct fm_map *m, void *arg)
{
	(void)arg;
	lock_pages(m);
	if (m->shared)
		flush_locked(m);
	return 0;
}

/* To a system call that uses it the kernel's answer would be EFAULT from here on,
 * where something else is to be there the next moment. */
int fm_map_lock_unused(struct fm_map *m, void *arg)
{
	lock_pages(m);
	fm_pin_wait(fm_map_addr(m, 0), fm_map_pages(m) << FM_PAGE_SHIFT);
	if (m->shared)
		flush_locked(m);
	(void)arg;
	return 0;
}

int fm_map_show_and_unlock(struct fm_map *m, void *arg)
{
	(void)arg;
	fm_space_set(atomic_load(&m->start), atomic_load(&m->end), m);
	fm_map_unlock_pages(m);
	return 0;
}

int fm_map_retire(struct fm_map *m, void *arg)
{
	(void)arg;
	fm_map_each(m, 0, fm_map_pages(m), clear_page, NULL);
	fm_map_unlink(m);
	return 0;
}

/* Stores may go on until the pages are locked: flush until nothing is left,
 * the last time with everything locked out. */
static bool still_dirty(struct fm_map *m)
{
	uint64_t end = m->pgoff + fm_map_pages(m);

	return m->shared && fm_dirty_next(m->file, m->pgoff, end) < end;
}

static FM_FAULT int protect_map(struct fm_map *m, void *arg)
{
	int prot = *(int *)arg;

	return fm_sys_mprotect((void *)atomic_load(&m->start),
			       atomic_load(&m->end) - atomic_load(&m->start),
			       prot);
}

/* A device or a file system has its own words for what it cannot write (ENODATA,
 * EREMOTEIO, EROFS, ESTALE, ...). Not so what is ours, or limits that may change. */
static bool fails_for_good(int err)
{
	return err != -EFAULT && err != -ENOMEM && err != -EAGAIN &&
	       err != -EINTR && err != -ECANCELED && err != -EFBIG &&
	       err != -EPERM;
}

/* Nearly everything is in the file. What is stored meanwhile is written once the
 * pages are locked (flush_locked): a denial here would be SIGSEGV for a thread that
 * may store to what is there, and to what takes its place. */
static int settle_map(struct fm_map *m, void *arg)
{
	int err;

	fm_ahead_forget(m);
	err = fm_map_flush(m, arg);
	if (still_dirty(m)) /* raced, failed, or pinned */
		err = fm_map_flush(m, arg);
	return fails_for_good(err) ? 0 : err; /* said already; goes with the memory */
}

FM_FAULT int fm_map_make_exact(struct fm_map *m)
{
	int prot = atomic_load(&m->prot), err = protect_map(m, &prot);

	if (!err)
		atomic_store(&m->vma_prot, true);
	return err;
}

int fm_map_reopen(struct fm_map *m, void *arg)
{
	(void)arg;
	fm_map_make_exact(m);
	return 0;
}

/* The range is in the file and cut; the list of what is in it. */
int fm_range_settle(uintptr_t start, uintptr_t end, struct fm_list *l)
{
	int err = fm_range_cut(start, end);

	if (err)
		return err;
	err = fm_range_maps(start, end, settle_map, NULL);
	if (!err)
		err = fm_range_list(start, end, l);
	return err;
}

/* One mapping after the other: two of them may hold the same file pages, and
 * their locks cannot be taken twice. The memory is emptied while they are: what
 * stayed readable would not follow stores to another mapping any more. */
int fm_range_release(uintptr_t start, uintptr_t end)
{
	struct fm_list l;
	int err = fm_range_settle(start, end, &l);

	if (err)
		return err;
	for (size_t k = 0; k < l.n; k++) {
		fm_map_hide(l.v[k], NULL);
		fm_map_lock_unused(l.v[k], NULL);
		fm_uffd_drop(fm_map_addr(l.v[k], 0),
			     fm_map_pages(l.v[k]) << FM_PAGE_SHIFT);
		fm_map_retire(l.v[k], NULL);
	}
	fm_free(l.v);
	return 0;
}

static int unmap_one(struct fm_map *m)
{
	int err;

	fm_map_hide(m, NULL);
	fm_map_lock(m, NULL);
	if (fm_kept_put(m))
		return fm_map_retire(m, NULL);
	err = fm_sys_munmap((void *)atomic_load(&m->start),
			    atomic_load(&m->end) - atomic_load(&m->start));
	if (!err)
		return fm_map_retire(m, NULL);
	fm_map_show_and_unlock(m, NULL);
	return err;
}

/* What is not ours between our mappings. */
static int unmap_gap(uintptr_t from, uintptr_t to)
{
	return from < to ? fm_sys_munmap((void *)from, to - from) : 0;
}

int fm_munmap_locked(uintptr_t a, size_t len)
{
	uintptr_t end = page_up(a + len), at = a;
	struct fm_list l;
	int err = fm_range_settle(a, end, &l);

	if (err)
		return err;
	/* Every byte once: what has been unmapped may be somebody else's
	 * mapping a moment later. */
	for (size_t k = 0; k < l.n && !err; k++) {
		uintptr_t next = atomic_load(&l.v[k]->end);

		err = unmap_gap(at, atomic_load(&l.v[k]->start));
		if (!err)
			err = unmap_one(l.v[k]);
		at = next;
	}
	fm_free(l.v);
	return err ? err : unmap_gap(at, end);
}

int fm_munmap(void *addr, size_t len)
{
	uint64_t old;
	int err;

	if (bad_range(addr, len) || !len || !fm_overlaps(addr, len))
		return fm_sys_munmap(addr, len);
	fm_write_before((uintptr_t)addr, page_up((uintptr_t)addr + len));
	fm_space_lock(&old);
	err = fm_munmap_locked((uintptr_t)addr, len);
	fm_space_unlock(&old);
	return err;
}

/* ---- mprotect --------------------------------------------------------- */

fm_map_fn fm_mprotect_first;

/* Mappings one behind the other that have one protection, and may have another. */
struct run {
	uintptr_t start, end;
	int was, prot;
};

static int join_run(struct fm_map *m, void *arg)
{
	struct run *r = arg;
	int was = atomic_load(&m->prot);

	if (atomic_load(&m->start) != r->end ||
	    (r->end > r->start && was != r->was))
		return 1;
	if ((r->prot & PROT_WRITE) && m->shared && !m->maywrite)
		return -EACCES;
	r->was = was;
	r->end = atomic_load(&m->end);
	return 0;
}

/* Let faults that have begun end: a frame that is being moved in is unprotected
 * for a moment, and a first store is about to be let through. */
static int pass_through(struct fm_map *m, void *arg)
{
	(void)arg;
	if (m->shared) {
		lock_pages(m);
		fm_map_unlock_pages(m);
	}
	return 0;
}

/* Dirty pages must stay readable for write-back: clean them before the
 * memory becomes inaccessible. First nobody can store any more, or a page could
 * become dirty after the look. */
static int hide_map(struct fm_map *m, void *arg)
{
	int prot = PROT_READ, err;

	if (!m->shared || (!(atomic_load(&m->prot) & PROT_WRITE) &&
			   !still_dirty(m)))
		return 0;
	protect_map(m, &prot);
	pass_through(m, NULL);
	err = still_dirty(m) ? fm_map_flush(m, arg) : 0;
	/* What a system call stores to was passed over. It gets EFAULT soon, and so
	 * would each later attempt to write the page. */
	if (!err && still_dirty(m)) {
		fm_map_lock(m, NULL);
		fm_map_unlock_pages(m);
	}
	return err;
}

static int note_prot(struct fm_map *m, void *arg)
{
	atomic_store(&m->prot, *(int *)arg);
	atomic_store(&m->vma_prot, true);
	return 0;
}

static int stay(struct fm_map *m, void *arg)
{
	atomic_store(&m->prot, *(int *)arg);
	return fm_map_reopen(m, NULL);
}

/* All of it, or nothing. */
static int protect_run(struct run *r)
{
	const int seen = PROT_READ | PROT_WRITE;
	bool grows = (r->prot & PROT_WRITE) ||
		     ((r->prot & seen) && !(r->was & seen));
	int err = 0;

	/* PROT_EXEC alone takes reading away where the CPU has protection keys. */
	if (!(r->prot & (PROT_READ | PROT_WRITE)))
		err = fm_range_maps(r->start, r->end, hide_map, NULL);
	/* Permission first known to the fault path, then to the hardware when
	 * it grows; the other way round when it shrinks. */
	if (grows) {
		fm_range_maps(r->start, r->end, note_prot, &r->prot);
		fm_range_maps(r->start, r->end, pass_through, NULL);
		if (!err && (r->prot & PROT_WRITE) && fm_mprotect_first)
			err = fm_range_maps(r->start, r->end,
					    fm_mprotect_first, NULL);
	}
	if (!err)
		err = fm_sys_mprotect((void *)r->start, r->end - r->start, r->prot);
	if (err)
		fm_range_maps(r->start, r->end, stay, &r->was);
	else if (!grows)
		fm_range_maps(r->start, r->end, note_prot, &r->prot);
	return err;
}

/* As the kernel goes along: up to what refuses, or is not there. */
static int mprotect_locked(uintptr_t a, uintptr_t end, int prot)
{
	int err = fm_range_cut(a, end);

	while (!err && a < end) {
		struct run r = { .start = a, .end = a, .prot = prot };
		uintptr_t at = end;

		fm_space_next(a, end, &at);
		if (at > a) {
			err = fm_sys_mprotect((void *)a, at - a, prot);
			a = at;
			continue;
		}
		err = fm_range_maps(a, end, join_run, &r);
		if (r.end > a)
			err = protect_run(&r);
		a = r.end;
	}
	return err;
}

int fm_mprotect(void *addr, size_t len, int prot)
{
	uintptr_t a = (uintptr_t)addr, end = page_up(a + len);
	uint64_t old;
	int err;

	if (bad_range(addr, len) || !len || !fm_overlaps(addr, len) ||
	    (prot & ~(PROT_READ | PROT_WRITE | PROT_EXEC)))
		return fm_sys_mprotect(addr, len, prot);
	if (!(prot & (PROT_READ | PROT_WRITE)))
		fm_write_before(a, end);
	fm_space_lock(&old);
	err = mprotect_locked(a, end, prot);
	fm_space_unlock(&old);
	return err;
}

/* ---- small ones -------------------------------------------------------- */

int fm_mincore(void *addr, size_t len, unsigned char *vec)
{
	/* Anonymous memory: the kernel knows which pages are populated. */
	return (int)fm_sys3(SYS_mincore, addr, len, vec);
}

static int demote_map(struct fm_map *m, void *arg)
{
	return fm_demote_locked(m->file, arg);
}

/* Hand the files under a range to the kernel. The list changes under us, so
 * start over after each. */
int fm_demote_range(const void *addr, size_t len, const char *why)
{
	uintptr_t a = (uintptr_t)addr, at;
	uint64_t old;
	int err = 0;

	fm_write_before(a & ~FM_PAGE_MASK, page_up(a + len));
	fm_space_lock(&old);
	while (!err) {
		struct fm_map *m = fm_space_next(a & ~FM_PAGE_MASK,
						 page_up(a + len), &at);
		if (!m)
			break;
		err = demote_map(m, (void *)(uintptr_t)why);
	}
	fm_space_unlock(&old);
	return err;
}

int fm_remap_file_pages(void *addr, size_t size, int prot, size_t pgoff,
			int flags)
{
	if (fm_overlaps(addr, size))
		fm_demote_range(addr, size, "remap_file_pages");
	return (int)fm_sys5(SYS_remap_file_pages, addr, size, prot, pgoff,
			    flags);
}
