/* SPDX-License-Identifier: MIT */
/*
 * remap.c - mremap: grow in place, shrink, move.
 */
#include "ahead.h"
#include "alloc.h"
#include "cache.h"
#include "engine.h"
#include "file.h"
#include "map.h"
#include "mapops.h"
#include "page.h"
#include "space.h"
#include "uffd.h"
#include "wb.h"

static uintptr_t page_up(uintptr_t a)
{
	return (a + FM_PAGE_MASK) & ~FM_PAGE_MASK;
}

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
		fm_list_each(l, fm_map_show_and_unlock, NULL);
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
	fm_list_each(&l, fm_map_flush, NULL);
	fm_list_each(&l, fm_map_hide_and_lock, &flush);
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
		if (!err && new_len < old_len) { /* the tail goes first */
			err = fm_munmap_locked(a + new_len, old_len - new_len);
			old_len = new_len;
		}
		return err ? (void *)(intptr_t)err :
			     move_range(&s, a, old_len, new_len, flags,
					new_addr);
	}
	if (new_len < old_len)
		err = fm_munmap_locked(a + new_len, old_len - new_len);
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
		fm_demote_range(old, old_len ? old_len : 1, "mremap");
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
		fm_demote_range(old, old_len, "mremap of pieces");
		p = (void *)fm_sys5(SYS_mremap, old, old_len, new_len, flags,
				    new_addr);
	}
	return p;
}
