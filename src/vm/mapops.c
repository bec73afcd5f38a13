/* SPDX-License-Identifier: MIT */
/*
 * mapops.c - munmap, mprotect and small ones on managed ranges. Each cuts the
 * mappings at the borders first (fault/map_edit.h), so that the rest deals with
 * whole mappings only.
 */
#include "mapops.h"

#include "base/alloc.h"
#include "engine.h"
#include "fault/fault.h"
#include "file/file.h"
#include "map/map.h"
#include "unmap_cache.h"
#include "unmap_loss.h"

static bool bad_range(const void *addr, size_t len)
{
	uintptr_t a = (uintptr_t)addr;

	return (a & FM_PAGE_MASK) || a + len < a || fm_page_up(a + len) < a;
}

/* ---- munmap ----------------------------------------------------------- */

/* A small window has one group, or two. Under the space lock. */
static bool was_touched(const struct fm_map *m)
{
	const uint64_t last = m->mbase + fm_map_pages(m) - 1;

	for (uint64_t g = m->mbase >> FM_TOUCH_SHIFT;
	     g <= last >> FM_TOUCH_SHIFT; g++)
		if (atomic_load(&m->modes->touched[g]))
			return true;
	return false;
}

static void mapops_note_window(const struct fm_map *m)
{
	struct fm_file *f = m->file;

	if (fm_map_is_window(m))
		f->idle = was_touched(m) ? 0 : f->idle + 1;
}

static int unmap_one(struct fm_map *m)
{
	int err;

	mapops_note_window(m);
	fm_map_hide(m, NULL);
	fm_map_lock(m, NULL);
	if (fm_unmap_cache_put(m))
		return fm_map_retire(m, NULL);
	fm_unmap_loses(m);
	err = fm_sys_munmap((void *)atomic_load(&m->start),
			    atomic_load(&m->end) - atomic_load(&m->start));
	if (!err) {
		fm_unmap_weigh(m->file);
		return fm_map_retire(m, NULL);
	}
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
	uintptr_t end = fm_page_up(a + len), at = a;
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
	if (bad_range(addr, len) || !len || !fm_overlaps(addr, len))
		return FM_TAKES_RANGE(addr, len, fm_is_zero,
				      fm_sys_munmap(addr, len));
	fm_write_before((uintptr_t)addr, fm_page_up((uintptr_t)addr + len));
	FM_HOLD_SPACE();
	fm_range_drain((uintptr_t)addr, fm_page_up((uintptr_t)addr + len),
		       FM_DRAIN_REMOVES);
	return FM_TAKES_RANGE(addr, len, fm_is_zero,
			     fm_munmap_locked((uintptr_t)addr, len));
}

/* ---- mprotect --------------------------------------------------------- */

fm_map_fn fm_mprotect_first;

/* Mappings one behind the other that have one protection, and may have
 * another. */
struct prot_run {
	uintptr_t start, end;
	int was, prot;
};

static int join_run(struct fm_map *m, void *arg)
{
	struct prot_run *r = arg;
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
static int mapops_pass_through(struct fm_map *m, void *arg)
{
	fm_map_lock_part(m, 0, fm_map_pages(m));
	fm_map_unlock_pages(m);
	return 0;
}

/* Dirty pages must stay readable for write-back: clean them before the
 * memory becomes inaccessible. First nobody can store any more, or a page could
 * become dirty after the look. */
static int hide_map(struct fm_map *m, void *arg)
{
	int err;

	if (!m->shared || (!(atomic_load(&m->prot) & PROT_WRITE) &&
			   !fm_map_still_dirty(m)))
		return 0;
	fm_map_protect(m, PROT_READ);
	mapops_pass_through(m, NULL);
	err = fm_map_still_dirty(m) ? fm_map_flush(m, arg) : 0;
	/* What a system call stores to was passed over. It gets EFAULT soon,
	 * and so would each later attempt to write the page. */
	if (!err && fm_map_still_dirty(m)) {
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
static int protect_run(struct prot_run *r)
{
	const int seen = PROT_READ | PROT_WRITE;
	bool grows = (r->prot & PROT_WRITE) ||
		     ((r->prot & seen) && !(r->was & seen));
	int err = 0;

	/* PROT_EXEC alone takes reading away where the CPU has protection
	 * keys. */
	if (!(r->prot & (PROT_READ | PROT_WRITE)))
		err = fm_range_maps(r->start, r->end, hide_map, NULL);
	/* Permission first known to the fault path, then to the hardware when
	 * it grows; the other way round when it shrinks. */
	if (grows) {
		fm_range_maps(r->start, r->end, note_prot, &r->prot);
		fm_range_maps(r->start, r->end, mapops_pass_through, NULL);
		if (!err && (r->prot & PROT_WRITE) && fm_mprotect_first)
			err = fm_range_maps(r->start, r->end,
					    fm_mprotect_first, NULL);
	}
	if (!err)
		err = fm_sys_mprotect((void *)r->start, r->end - r->start,
				      r->prot);
	if (err)
		fm_range_maps(r->start, r->end, stay, &r->was);
	else if (!grows)
		fm_range_maps(r->start, r->end, note_prot, &r->prot);
	return err;
}

/* All of it is ours, and so is the protection. */
static bool is_protected_so(uintptr_t a, uintptr_t end, int prot)
{
	for (uintptr_t at = end; a < end; at = end) {
		struct fm_map *m = fm_space_next(a, end, &at);

		if (!m || at > a || atomic_load(&m->prot) != prot ||
		    !atomic_load(&m->vma_prot))
			return false;
		a = atomic_load(&m->end);
	}
	return true;
}

/* As the kernel goes along: up to what refuses, or is not there. What changes
 * nothing does not cut a mapping: it would be several to the kernel, too, once
 * it serves the file, and mremap of it fail. */
static int mprotect_locked(uintptr_t a, uintptr_t end, int prot)
{
	int err;

	if (is_protected_so(a, end, prot))
		return fm_sys_mprotect((void *)a, end - a, prot);
	err = fm_range_cut(a, end);
	while (!err && a < end) {
		struct prot_run r = { .start = a, .end = a, .prot = prot };
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

/* What is the kernel's, or has been handed to it on the way. */
static int protect_kernels(void *addr, size_t len, int prot)
{
	const int err = fm_sys_mprotect(addr, len, prot);

	if (!err && fm_krange_any())
		fm_krange_protected(addr, len, prot);
	return err;
}

int fm_mprotect(void *addr, size_t len, int prot)
{
	uintptr_t a = (uintptr_t)addr, end = fm_page_up(a + len);
	int err;

	if (bad_range(addr, len) || !len || !fm_overlaps(addr, len) ||
	    (prot & ~(PROT_READ | PROT_WRITE | PROT_EXEC)))
		return protect_kernels(addr, len, prot);
	if (!(prot & (PROT_READ | PROT_WRITE)))
		fm_write_before(a, end);
	FM_HOLD_SPACE();
	fm_range_drain(a, end, FM_DRAIN_LOCKS);
	err = mprotect_locked(a, end, prot);
	if (!err && fm_krange_any())
		fm_krange_protected(addr, len, prot);
	return err;
}

/* ---- small ones -------------------------------------------------------- */

/* Hand the files under a range to the kernel. The list changes under us, so
 * start over after each. */
int fm_demote_range(const void *addr, size_t len, enum fm_server_reason why)
{
	uintptr_t a = (uintptr_t)addr, at;
	int err = 0;

	fm_write_before(a & ~FM_PAGE_MASK, fm_page_up(a + len));
	FM_HOLD_SPACE();
	while (!err) {
		struct fm_map *m = fm_space_next(a & ~FM_PAGE_MASK,
						 fm_page_up(a + len), &at);
		if (!m)
			break;
		err = fm_server_change(m->file, FM_SERVER_KERNEL, why);
	}
	return err;
}

int fm_remap_file_pages(void *addr, size_t size, int prot, size_t pgoff,
			int flags)
{
	if (fm_overlaps(addr, size))
		fm_demote_range(addr, size, FM_WHY_REMAP);
	return (int)fm_sys5(SYS_remap_file_pages, addr, size, prot, pgoff,
			    flags);
}
