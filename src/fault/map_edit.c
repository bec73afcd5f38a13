/* SPDX-License-Identifier: MIT */
#include "map_edit.h"

#include <sys/resource.h>

#include "base/alloc.h"
#include "base/snapshot.h"
#include "base/sys.h"
#include "cache/cache.h"
#include "file/file.h"
#include "map/map.h"
#include "readahead/readahead.h"
#include "writeback/writeback.h"

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

static int put_map(struct fm_map *m, void *arg)
{
	fm_snapshot_put(arg, &m);
	return 0;
}

struct range {
	uintptr_t start, end;
};

static void put_range(struct fm_snapshot *s, void *arg)
{
	const struct range *r = arg;

	fm_range_maps(r->start, r->end, put_map, s);
}

static int list_maps(void (*walk)(struct fm_snapshot *s, void *arg), void *arg,
		     struct fm_list *ret)
{
	struct fm_snapshot s;
	int err = fm_snapshot(&s, sizeof(*ret->v), walk, arg);

	*ret = (struct fm_list){ s.list, s.n };
	return err;
}

/* The mappings of a range, to go on with after the radix forgets them. */
int fm_range_list(uintptr_t start, uintptr_t end, struct fm_list *ret)
{
	struct range r = { start, end };

	return list_maps(put_range, &r, ret);
}

static void map_edit_put_file(struct fm_snapshot *s, void *file)
{
	struct fm_map *m;

	fm_for_each_map(m, (struct fm_file *)file)
		fm_snapshot_put(s, &m);
}

int fm_file_list(struct fm_file *f, struct fm_list *ret)
{
	return list_maps(map_edit_put_file, f, ret);
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

	fm_page_lock_idle(p);
	/* Seen by unlock_touched even if nothing was ever mapped here. */
	fm_mode_set(m, i, fm_mode(m, i) | PM_LOCKED);
}

static void unlock_touched(struct fm_map *m, uint64_t i, void *arg)
{
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

static void map_edit_lock_pages(struct fm_map *m)
{
	fm_map_lock_part(m, 0, fm_map_pages(m));
}

void fm_map_unlock_pages(struct fm_map *m)
{
	fm_map_unlock_part(m, 0, fm_map_pages(m));
}

/* ---- a mapping goes ---------------------------------------------------- */

/* Dirty pages that only m holds must be in the file before m goes. */
int fm_map_flush(struct fm_map *m, void *arg)
{
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

	if (!(mode & PM_LOCKED))
		return;
	if (fm_mode_charged(mode))
		fm_cache_uncharge(m->file, 1);
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
	fm_space_hiding(atomic_load(&m->start), atomic_load(&m->end));
	fm_space_set(atomic_load(&m->start), atomic_load(&m->end), NULL);
	fm_ahead_forget(m);
	return 0;
}

int fm_map_lock(struct fm_map *m, void *arg)
{
	map_edit_lock_pages(m);
	if (m->shared)
		flush_locked(m);
	return 0;
}

/* To a system call that uses it the kernel's answer would be EFAULT from here
 * on, where something else is to be there the next moment. */
int fm_map_lock_unused(struct fm_map *m, void *arg)
{
	map_edit_lock_pages(m);
	fm_pin_wait(fm_map_addr(m, 0), fm_map_pages(m) << FM_PAGE_SHIFT);
	if (m->shared)
		flush_locked(m);
	return 0;
}

int fm_map_show_and_unlock(struct fm_map *m, void *arg)
{
	fm_space_set(atomic_load(&m->start), atomic_load(&m->end), m);
	fm_map_unlock_pages(m);
	return 0;
}

int fm_map_retire(struct fm_map *m, void *arg)
{
	fm_map_each(m, 0, fm_map_pages(m), clear_page, NULL);
	fm_map_unlink(m);
	return 0;
}

/* Stores may go on until the pages are locked: flush until nothing is left,
 * the last time with everything locked out. */
bool fm_map_still_dirty(struct fm_map *m)
{
	uint64_t end = m->pgoff + fm_map_pages(m);

	return m->shared && fm_dirty_next(m->file, m->pgoff, end) < end;
}

FM_FAULT int fm_map_protect(struct fm_map *m, int prot)
{
	return fm_sys_mprotect((void *)atomic_load(&m->start),
			       atomic_load(&m->end) - atomic_load(&m->start),
			       prot);
}

/* Of this process, which may raise it again. */
static bool is_over_limit(struct fm_file *f)
{
	struct rlimit rl = { RLIM_INFINITY, RLIM_INFINITY };

	if (fm_sys_confined())
		return true; /* perhaps */
	fm_sys4(SYS_prlimit64, 0, RLIMIT_FSIZE, NULL, &rl);
	return (uint64_t)atomic_load(&f->size) > rl.rlim_cur;
}

/* A device or a file system has its own words for what it cannot write
 * (ENODATA, EREMOTEIO, EROFS, ESTALE, ...). Not so what is ours, or limits that
 * may change. */
static bool fails_for_good(struct fm_file *f, int err)
{
	if (err == -EFBIG)
		return !is_over_limit(f);
	if (err == -EPERM) /* or a filter's */
		return !fm_sys_confined();
	return err != -EFAULT && err != -ENOMEM && err != -EAGAIN &&
	       err != -EINTR && err != -ECANCELED;
}

/* Nearly everything is in the file. What is stored meanwhile is written once
 * the pages are locked (flush_locked): a denial here would be SIGSEGV for a
 * thread that may store to what is there, and to what takes its place. */
static int settle_map(struct fm_map *m, void *arg)
{
	int err;

	fm_ahead_forget(m);
	err = fm_map_flush(m, arg);
	if (fm_map_still_dirty(m)) /* raced, failed, or pinned */
		err = fm_map_flush(m, arg);
	/* said already; goes with the memory */
	return fails_for_good(m->file, err) ? 0 : err;
}

FM_FAULT int fm_map_sync_prot(struct fm_map *m)
{
	int err = fm_map_protect(m, atomic_load(&m->prot));

	if (!err)
		atomic_store(&m->vma_prot, true);
	return err;
}

int fm_map_reopen(struct fm_map *m, void *arg)
{
	fm_map_sync_prot(m);
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
