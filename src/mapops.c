/* SPDX-License-Identifier: MIT */
/*
 * mapops.c - munmap, mprotect, msync, mremap and friends on managed ranges.
 * Each cuts the mappings at the borders first, so that the rest deals with
 * whole mappings only.
 */
#include "mapops.h"

#include <string.h>

#include "ahead.h"
#include "alloc.h"
#include "cache.h"
#include "engine.h"
#include "file.h"
#include "map.h"
#include "page.h"
#include "space.h"
#include "uffd.h"
#include "wb.h"

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
	fm_ahead_forget(m);
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

static int each(const struct fm_list *l, fm_map_fn fn, void *arg)
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
	for (;;) {
		fm_page_lock(p);
		if (!(fm_page_state(p) & FP_WB))
			break;
		fm_page_unlock(p);
		fm_page_wait(p, FP_WB);
	}
	/* Seen by unlock_touched even if nothing was ever mapped here. */
	fm_mode_set(m, i, fm_mode(m, i) | PM_POISON);
}

static void unlock_touched(struct fm_map *m, uint64_t i, void *arg)
{
	(void)arg;
	if (!(fm_mode(m, i) & PM_POISON))
		return;
	fm_mode_set(m, i, fm_mode(m, i) & (uint8_t)~PM_POISON);
	fm_page_unlock(fm_file_page(m->file, m->pgoff + i));
}

void fm_map_lock_pages(struct fm_map *m)
{
	fm_map_each(m, 0, fm_map_pages(m), lock_idle, NULL);
}

void fm_map_unlock_pages(struct fm_map *m)
{
	fm_map_each(m, 0, fm_map_pages(m), unlock_touched, NULL);
}

/* ---- munmap ----------------------------------------------------------- */

/* Dirty pages that only m holds must be in the file before m goes. */
static int flush_map(struct fm_map *m, void *arg)
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
	if (!(mode & PM_POISON))
		return;
	if ((mode & PM_PRESENT) && !(mode & PM_OWN))
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
		if (fm_mode(m, fp - m->pgoff) & PM_POISON)
			fm_wb_locked_page(m->file, fp);
}

/* Hidden first, then locked: a fault that still saw the mapping has marked
 * its page as touched and holds its lock, one that comes later looks again
 * under the lock and finds nothing. */
static int hide_and_lock(struct fm_map *m, void *arg)
{
	bool *flush = arg;

	fm_space_hiding();
	fm_space_set(atomic_load(&m->start), atomic_load(&m->end), NULL);
	fm_ahead_forget(m);
	fm_map_lock_pages(m);
	if (flush && m->shared)
		flush_locked(m);
	return 0;
}

static int show_and_unlock(struct fm_map *m, void *arg)
{
	(void)arg;
	fm_space_set(atomic_load(&m->start), atomic_load(&m->end), m);
	fm_map_unlock_pages(m);
	return 0;
}

static int retire_map(struct fm_map *m, void *arg)
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

static int protect_map(struct fm_map *m, void *arg)
{
	int prot = *(int *)arg;

	return fm_sys_mprotect((void *)atomic_load(&m->start),
			       atomic_load(&m->end) - atomic_load(&m->start),
			       prot);
}

/* Quiesce: no store can be made any more, everything is in the file, every
 * touched page is locked. The memory is still mapped, read-only. */
static int settle_map(struct fm_map *m, void *arg)
{
	int ro = PROT_READ;
	int err;

	fm_ahead_forget(m);
	err = flush_map(m, arg);
	if (still_dirty(m)) {
		/* Raced, failed, or pinned: shut the door and try once more. */
		protect_map(m, &ro);
		err = flush_map(m, arg);
	}
	return err == -ENOSPC || err == -EIO ? 0 : err;
}

/* Everything but the last step of munmap: the range is quiet, in the file,
 * unknown to the fault path, and locked. */
static int take_out(uintptr_t start, uintptr_t end, struct fm_list *l)
{
	int err = fm_range_cut(start, end);
	bool flush = true;

	if (!err)
		err = fm_range_maps(start, end, settle_map, NULL);
	if (!err)
		err = fm_range_list(start, end, l);
	if (!err)
		each(l, hide_and_lock, &flush);
	return err;
}

int fm_range_release(uintptr_t start, uintptr_t end)
{
	struct fm_list l;
	int err = take_out(start, end, &l);

	if (err)
		return err;
	each(&l, retire_map, NULL);
	fm_free(l.v);
	return 0;
}

static int munmap_locked(uintptr_t a, size_t len)
{
	struct fm_list l;
	int err = take_out(a, page_up(a + len), &l);

	if (err)
		return err;
	err = fm_sys_munmap((void *)a, len);
	each(&l, err ? show_and_unlock : retire_map, NULL);
	fm_free(l.v);
	return err;
}

int fm_munmap(void *addr, size_t len)
{
	uint64_t old;
	int err;

	if (bad_range(addr, len) || !len || !fm_overlaps(addr, len))
		return fm_sys_munmap(addr, len);
	fm_space_lock(&old);
	err = munmap_locked((uintptr_t)addr, len);
	fm_space_unlock(&old);
	return err;
}

/* ---- msync ------------------------------------------------------------ */

struct sync_range {
	uintptr_t start, end;
	struct fm_file *files[64];
	uint64_t first[64], stop[64];
	unsigned n;
};

/* Collected under the lock, written without it: msync of one thread must not
 * hold up the mmap of another. */
static int collect(struct fm_map *m, void *arg)
{
	struct sync_range *s = arg;
	uintptr_t a = atomic_load(&m->start), e = atomic_load(&m->end);

	if (!m->shared || s->n == 64)
		return 0;
	if (a < s->start)
		a = s->start;
	if (e > s->end)
		e = s->end;
	fm_file_get(m->file);
	s->files[s->n] = m->file;
	s->first[s->n] = m->pgoff +
			 ((a - atomic_load(&m->start)) >> FM_PAGE_SHIFT);
	s->stop[s->n] = s->first[s->n] + ((e - a) >> FM_PAGE_SHIFT);
	s->n++;
	return 0;
}

static int sync_file_range_of(struct fm_file *f, uint64_t first,
			      uint64_t stop, int flags)
{
	int err, late;

	if (!(flags & MS_SYNC)) {
		if (fm_dirty_next(f, first, stop) < stop)
			fm_wb_kick();
		return 0;
	}
	err = fm_wb_range(f, first, stop, true);
	late = fm_wb_error(f);
	if (!err)
		err = late;
	if (!err && f->writable)
		err = fm_wb_sync(f);
	return err;
}

int fm_msync(void *addr, size_t len, int flags)
{
	/* The kernel judges the arguments and the holes; on our anonymous
	 * memory it does nothing else. */
	int res = (int)fm_sys3(SYS_msync, addr, len, flags);
	struct sync_range s = { .n = 0 };
	uint64_t old;

	if ((res && res != -ENOMEM) || !len)
		return res;
	s.start = (uintptr_t)addr;
	s.end = page_up(s.start + len);
	fm_space_lock(&old);
	fm_range_maps(s.start, s.end, collect, &s);
	fm_space_unlock(&old);
	for (unsigned i = 0; i < s.n; i++) {
		int err = sync_file_range_of(s.files[i], s.first[i],
					     s.stop[i], flags);

		if (err && (!res || res == -ENOMEM))
			res = err == -ENOSPC || err == -EIO || err == -EDQUOT ?
				      err : -EIO;
		fm_file_put(s.files[i]);
	}
	return res;
}

/* ---- mprotect --------------------------------------------------------- */

static int may_protect(struct fm_map *m, void *arg)
{
	int prot = *(int *)arg;

	return (prot & PROT_WRITE) && m->shared && !m->maywrite ? -EACCES : 0;
}

/* Dirty pages must stay readable for write-back: clean them before the
 * memory becomes inaccessible. */
static int hide_map(struct fm_map *m, void *arg)
{
	int ro = PROT_READ;

	if (!still_dirty(m))
		return 0;
	protect_map(m, &ro);
	return flush_map(m, arg);
}

static int note_prot(struct fm_map *m, void *arg)
{
	atomic_store(&m->prot, *(int *)arg);
	atomic_store(&m->vma_prot, true);
	return 0;
}

static int mprotect_locked(uintptr_t a, uintptr_t end, int prot)
{
	int err = fm_range_cut(a, end);

	if (!err)
		err = fm_range_maps(a, end, may_protect, &prot);
	if (err)
		return err;
	if (!(prot & (PROT_READ | PROT_WRITE | PROT_EXEC))) {
		err = fm_range_maps(a, end, hide_map, NULL);
		if (err)
			return err;
	}
	/* Permission first known to the fault path, then to the hardware when
	 * it grows; the other way round when it shrinks. */
	if (prot & PROT_WRITE)
		fm_range_maps(a, end, note_prot, &prot);
	err = fm_sys_mprotect((void *)a, end - a, prot);
	if (!(prot & PROT_WRITE) && !err)
		fm_range_maps(a, end, note_prot, &prot);
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
static int demote_range(const void *addr, size_t len, const char *why)
{
	uintptr_t a = (uintptr_t)addr, at;
	uint64_t old;
	int err = 0;

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

int fm_mlock(const void *addr, size_t len, unsigned flags)
{
	if (fm_overlaps(addr, len))
		demote_range(addr, len, "mlock");
	if (flags)
		return (int)fm_sys3(SYS_mlock2, addr, len, flags);
	return (int)fm_sys2(SYS_mlock, addr, len);
}

int fm_munlock(const void *addr, size_t len)
{
	return (int)fm_sys2(SYS_munlock, addr, len);
}

int fm_remap_file_pages(void *addr, size_t size, int prot, size_t pgoff,
			int flags)
{
	if (fm_overlaps(addr, size))
		demote_range(addr, size, "remap_file_pages");
	return (int)fm_sys5(SYS_remap_file_pages, addr, size, prot, pgoff,
			    flags);
}

/* ---- mremap ----------------------------------------------------------- */

/* One file range, one kind, no gap? Then the kernel would have one vma. */
struct same {
	struct fm_map *first;
	uintptr_t at;
	uint64_t pgoff;
};

static int check_same(struct fm_map *m, void *arg)
{
	struct same *s = arg;

	if (!s->first) {
		s->first = m;
	} else if (atomic_load(&m->start) != s->at || m->pgoff != s->pgoff ||
		   m->file != s->first->file ||
		   m->shared != s->first->shared ||
		   m->prot != s->first->prot) {
		return -EFAULT;
	}
	s->at = atomic_load(&m->end);
	s->pgoff = m->pgoff + fm_map_pages(m);
	return 0;
}

/* The new tail is a mapping of its own, right behind. */
static int add_tail(struct fm_map *like, uintptr_t start, size_t len,
		    uint64_t pgoff)
{
	struct fm_map *t;
	int err = fm_file_grow_leaves(like->file, pgoff, len >> FM_PAGE_SHIFT);

	if (err)
		return err;
	t = fm_map_new(like->file, start, len, pgoff);
	if (!t)
		return -ENOMEM;
	fm_file_get(like->file);
	t->prot = atomic_load(&like->prot);
	t->shared = like->shared;
	t->maywrite = like->maywrite;
	atomic_store(&t->vma_prot, atomic_load(&like->vma_prot));
	atomic_store(&t->advice, atomic_load(&like->advice));
	fm_map_note_aliases(t);
	return fm_map_publish(t);
}

static int grow_in_place(const struct same *s, uintptr_t a, size_t old_len,
			 size_t new_len)
{
	void *p = (void *)fm_sys5(SYS_mremap, a, old_len, new_len, 0, 0);

	if (fm_is_err(p))
		return (int)(intptr_t)p;
	return add_tail(s->first, a + old_len, new_len - old_len, s->pgoff);
}

/* Moved pages arrive without write protection: protect them all again, the
 * next store to each is seen. */
static void reprotect(struct fm_map *m, uint64_t i, void *arg)
{
	uint8_t mode = fm_mode(m, i);

	(void)arg;
	fm_mode_set(m, i, mode & (uint8_t)~PM_WRITABLE);
}

static struct fm_map *rehome(struct fm_map *m, uintptr_t to)
{
	struct fm_map *n = fm_map_moved(m, to);
	size_t len = atomic_load(&m->end) - atomic_load(&m->start);

	if (!n)
		return NULL;
	fm_map_each(m, 0, fm_map_pages(m), reprotect, NULL);
	if (fm_uffd_protect((void *)to, len, true))
		return NULL;
	/* The same pages under the same locks: no new alias. */
	return fm_map_publish(n) ? NULL : n;
}

static void requeue_page(struct fm_map *m, uint64_t i, void *arg)
{
	uint8_t mode = fm_mode(m, i);

	(void)arg;
	if ((mode & PM_PRESENT) && !(mode & PM_OWN))
		fm_cache_enqueue(m, i, mode & PM_MAIN, false);
}

/* The pieces are hidden and every page is locked, so nobody can come in
 * between; nobody knows the new address yet. */
static void *do_move(struct fm_list *l, const struct same *s, uintptr_t a,
		     size_t old_len, size_t new_len, int flags, void *fixed)
{
	struct fm_map *n = NULL;
	char *to;

	/* mremap takes the registration from the vma that it arrives in. If
	 * that had merged with a neighbour of ours, the neighbour would lose
	 * its registration too, and read zeroes. A vma of another kind does
	 * not merge (Linux 6.18, move_vma and userfaultfd_reset_ctx). */
	fm_sys_madvise((void *)a, old_len, MADV_DODUMP);
	to = (void *)fm_sys5(SYS_mremap, a, old_len, new_len,
			     flags | MREMAP_MAYMOVE, fixed);
	if (fm_is_err(to)) {
		fm_sys_madvise((void *)a, old_len, MADV_DONTDUMP);
		each(l, show_and_unlock, NULL);
		return to;
	}
	fm_sys_madvise(to, new_len, MADV_DONTFORK);
	if (fm_uffd_register(to, new_len))
		return (void *)(intptr_t)-ENOMEM;
	fm_sys_madvise(to, new_len, MADV_DONTDUMP);
	for (size_t k = 0; k < l->n; k++) {
		struct fm_map *m = l->v[k];

		n = rehome(m, (uintptr_t)to + (atomic_load(&m->start) - a));
		if (!n)
			return (void *)(intptr_t)-ENOMEM;
		fm_map_unlink(m);
		fm_map_each(n, 0, fm_map_pages(n), requeue_page, NULL);
		fm_map_unlock_pages(n);
	}
	if (new_len > old_len && add_tail(n, (uintptr_t)to + old_len,
					  new_len - old_len, s->pgoff))
		return (void *)(intptr_t)-ENOMEM;
	return to;
}

static void *move_range(const struct same *s, uintptr_t a, size_t old_len,
			size_t new_len, int flags, void *fixed)
{
	struct fm_list l;
	bool flush = true;
	void *to;

	if (fm_range_list(a, a + old_len, &l))
		return (void *)(intptr_t)-ENOMEM;
	/* Clean first: a death while the pages are on their way must lose
	 * nothing. */
	each(&l, flush_map, NULL);
	each(&l, hide_and_lock, &flush);
	to = do_move(&l, s, a, old_len, new_len, flags, fixed);
	fm_free(l.v);
	return to;
}

static void *mremap_locked(uintptr_t a, size_t old_len, size_t new_len,
			   int flags, void *new_addr)
{
	struct same s = { .first = NULL };
	void *p = (void *)a;
	int err = fm_range_cut(a, a + old_len);

	if (!err)
		err = fm_range_maps(a, a + old_len, check_same, &s);
	if (!err && (!s.first || atomic_load(&s.first->start) != a ||
		     s.at != a + old_len))
		err = -EFAULT;
	if (err)
		return (void *)(intptr_t)err;
	if (flags & MREMAP_FIXED) {
		uintptr_t t = (uintptr_t)new_addr;

		err = fm_range_release(t, page_up(t + new_len));
		return err ? (void *)(intptr_t)err :
			     move_range(&s, a, old_len, new_len, flags,
					new_addr);
	}
	if (new_len < old_len)
		err = munmap_locked(a + new_len, old_len - new_len);
	else if (new_len > old_len)
		err = grow_in_place(&s, a, old_len, new_len);
	if (new_len > old_len && err && err != -EAGAIN &&
	    (flags & MREMAP_MAYMOVE))
		p = move_range(&s, a, old_len, new_len, flags, NULL);
	else if (err)
		p = (void *)(intptr_t)err;
	return p;
}

void *fm_mremap(void *old, size_t old_len, size_t new_len, int flags,
		void *new_addr)
{
	uintptr_t a = (uintptr_t)old, t = (uintptr_t)new_addr;
	bool src = old_len ? fm_overlaps(old, old_len) : fm_overlaps(old, 1);
	bool dst = (flags & MREMAP_FIXED) && fm_overlaps(new_addr, new_len);
	uint64_t mask;
	void *p;

	/* What the kernel refuses for its arguments, duplication and
	 * DONTUNMAP: let it answer, on its own mapping. */
	if (src && (!old_len || (flags & ~(MREMAP_MAYMOVE | MREMAP_FIXED))))
		demote_range(old, old_len ? old_len : 1, "mremap");
	if (!(src || dst) || !old_len || !new_len || (a & FM_PAGE_MASK) ||
	    (flags & ~(MREMAP_MAYMOVE | MREMAP_FIXED)) ||
	    ((flags & MREMAP_FIXED) &&
	     (!(flags & MREMAP_MAYMOVE) || (t & FM_PAGE_MASK) ||
	      (t < page_up(a + old_len) && a < page_up(t + new_len)))))
		return (void *)fm_sys5(SYS_mremap, old, old_len, new_len,
				       flags, new_addr);
	fm_space_lock(&mask);
	if (!src) {
		fm_range_release(t, page_up(t + new_len));
		p = (void *)fm_sys5(SYS_mremap, old, old_len, new_len, flags,
				    new_addr);
	} else {
		p = mremap_locked(a, page_up(old_len), page_up(new_len), flags,
				  new_addr);
	}
	fm_space_unlock(&mask);
	if (src && p == (void *)(intptr_t)-EFAULT) {
		/* Pieces that the kernel would hold as one: let it. */
		demote_range(old, old_len, "mremap of pieces");
		p = (void *)fm_sys5(SYS_mremap, old, old_len, new_len, flags,
				    new_addr);
	}
	return p;
}
