/* SPDX-License-Identifier: MIT */
/*
 * mremap.c - mremap: grow in place, shrink, move.
 *
 * What can fail of our own is done before the system call: objects, radix
 * nodes, leaves. When the call fails, source and target are as they were.
 */
#include "base/alloc.h"
#include "base/log.h"
#include "cache/cache.h"
#include "engine.h"
#include "fault/fault.h"
#include "file/file.h"
#include "fixed_replace.h"
#include "map/map.h"
#include "mapops.h"

/* ---- the target of MREMAP_FIXED ---------------------------------------- */

struct target {
	struct fm_list l;
};

static bool same_pages(const struct fm_map *m, const struct fm_map *o)
{
	return m->file == o->file && m->pgoff < o->pgoff + fm_map_pages(o) &&
	       o->pgoff < m->pgoff + fm_map_pages(m);
}

static bool meets(const struct fm_list *l, size_t n, const struct fm_map *m)
{
	for (size_t k = 0; l && k < n; k++)
		if (same_pages(l->v[k], m))
			return true;
	return false;
}

/* Locks cannot be taken twice: target pages that are two times in it, or in
 * the source as well, are let go before the call. Their data is in the file;
 * only their place is lost if the call should fail. */
static bool aliased_in(const struct target *t, const struct fm_list *src)
{
	for (size_t k = 0; k < t->l.n; k++)
		if (meets(&t->l, k, t->l.v[k]) ||
		    (src && meets(src, src->n, t->l.v[k])))
			return true;
	return false;
}

static int target_begin(struct target *t, uintptr_t start, uintptr_t end,
			const struct fm_list *src)
{
	int err = fm_range_settle(start, end, &t->l);

	if (!err && aliased_in(t, src)) {
		fm_free(t->l.v);
		t->l = (struct fm_list){ NULL, 0 };
		return fm_range_release(start, end);
	}
	return err;
}

static bool mremap_in_order(const struct fm_map *a, const struct fm_map *b)
{
	return a->file != b->file ? a->file < b->file : a->pgoff < b->pgoff;
}

/* Of each file from the lower pages to the higher, as everybody locks them. */
static void mremap_sort(struct fm_list *l)
{
	for (size_t gap = l->n / 2; gap; gap /= 2)
		for (size_t i = gap; i < l->n; i++) {
			struct fm_map *m = l->v[i];
			size_t k = i;

			for (; k >= gap && !mremap_in_order(l->v[k - gap], m);
			     k -= gap)
				l->v[k] = l->v[k - gap];
			l->v[k] = m;
		}
}

/* Nobody can use source and target until they are shown again. All are hidden
 * before the first is locked: what is read ahead and waited for then may reach
 * into another. */
static int mremap_shut(const struct fm_list *src, const struct fm_list *target)
{
	struct fm_list all = { NULL, 0 };

	all.v = fm_alloc((src->n + target->n + 1) * sizeof(*all.v));
	if (!all.v)
		return -ENOMEM;
	for (size_t k = 0; k < src->n; k++)
		all.v[all.n++] = src->v[k];
	for (size_t k = 0; k < target->n; k++)
		all.v[all.n++] = target->v[k];
	mremap_sort(&all);
	fm_list_each(&all, fm_map_hide, NULL);
	fm_list_each(&all, fm_map_lock_unused, NULL);
	fm_free(all.v);
	return 0;
}

/* Still there, and registered? The kernel may have replaced a part of it. */
static bool intact(struct fm_map *m)
{
	void *a = (void *)atomic_load(&m->start);
	size_t len = atomic_load(&m->end) - atomic_load(&m->start);

	return !fm_sys3(SYS_msync, a, len, MS_ASYNC) &&
	       !fm_uffd_protect(a, len, true);
}

static void reprotect(struct fm_map *m, uint64_t i, void *arg)
{
	uint8_t mode = fm_mode(m, i);

	fm_mode_set(m, i, mode & (uint8_t)~PM_WRITABLE);
}

static int reprotect_map(struct fm_map *m, void *arg)
{
	fm_map_each(m, 0, fm_map_pages(m), reprotect, arg);
	return 0;
}

static void target_end(struct target *t, bool moved)
{
	for (size_t k = 0; k < t->l.n; k++) {
		struct fm_map *m = t->l.v[k];

		reprotect_map(m, NULL);
		if (moved || !intact(m))
			fm_map_retire(m, NULL);
		else
			fm_map_show_and_unlock(m, NULL);
	}
	fm_free(t->l.v);
}

/* What is still ours of a target that was let go for a call that failed. */
static void drop_rest(uintptr_t start, uintptr_t end)
{
	for (; start < end; start += FM_PAGE)
		if (!fm_uffd_protect((void *)start, FM_PAGE, true))
			fm_sys_munmap((void *)start, FM_PAGE);
}

/* Something that is not ours moves over what is. Linux 6.17 moves what it can
 * before it finds a gap: then the target could not be kept. */
static void *over_target(uintptr_t old, size_t old_len, size_t new_len,
			 int flags, uintptr_t to)
{
	struct fm_list none = { NULL, 0 };
	struct target t = { none };
	uintptr_t end = fm_page_up(to + new_len);
	void *p;
	int err;

	if (old_len && fm_sys3(SYS_msync, old, fm_page_up(old_len), MS_ASYNC))
		return (void *)(intptr_t)-EFAULT;
	err = target_begin(&t, to, end, NULL);
	if (err)
		return (void *)(intptr_t)err;
	err = mremap_shut(&none, &t.l);
	if (err) { /* settled, and not shut */
		fm_free(t.l.v);
		return (void *)(intptr_t)err;
	}
	p = (void *)fm_sys5(SYS_mremap, old, old_len, new_len, flags, to);
	target_end(&t, !fm_is_err(p));
	if (fm_is_err(p) && !fm_overlaps((void *)to, 1))
		drop_rest(to, end);
	return p;
}

/* ---- moving ------------------------------------------------------------ */

struct move {
	const struct fm_same *s;
	uintptr_t a;
	size_t old_len, new_len;
	struct fm_list src;
	struct fm_map **to;  /* the pieces at their new address */
	struct fm_map *tail;
	uint64_t grows; /* pages of the last piece, if there is no tail */
};

static void move_free(struct move *v, bool unused)
{
	for (size_t k = 0; unused && v->to && k < v->src.n; k++)
		fm_map_discard(v->to[k]);
	if (unused)
		fm_map_discard(v->tail);
	fm_free(v->to);
	fm_free(v->src.v);
}

static bool prepare_growth(struct move *v, uint64_t pages)
{
	if (fm_map_may_grow(v->s->last, pages))
		v->grows = pages;
	else
		v->tail = fm_tail_new(v->s, pages << FM_PAGE_SHIFT);
	return v->grows || v->tail;
}

static int move_prepare(struct move *v)
{
	bool ok;

	if (fm_range_list(v->a, v->a + v->old_len, &v->src))
		return -ENOMEM;
	v->to = fm_alloc((v->src.n + 1) * sizeof(struct fm_map *));
	ok = v->to && !fm_space_reserve(2 * v->src.n + 1);
	for (size_t k = 0; ok && k < v->src.n; k++) {
		v->to[k] = fm_map_moved(v->src.v[k]);
		ok = v->to[k];
	}
	if (ok && v->new_len > v->old_len)
		ok = prepare_growth(v,
				    (v->new_len - v->old_len) >> FM_PAGE_SHIFT);
	if (ok)
		return 0;
	move_free(v, true);
	return -ENOMEM;
}

/* The kernel moved it and will not register it. Shared pages are all in the
 * file. */
static void move_back(struct move *v, void *at)
{
	void *a = (void *)v->a, *p;

	p = fm_sys_mmap(a, v->old_len, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE |
				MAP_FIXED_NOREPLACE, -1, 0);
	if (p == a)
		p = fm_uffd_mremap((uintptr_t)at, v->new_len, v->old_len,
				   MREMAP_MAYMOVE | MREMAP_FIXED, v->a);
	if (p == a && !fm_uffd_take_in(a, v->old_len)) {
		fm_list_each(&v->src, reprotect_map, NULL);
		fm_list_each(&v->src, fm_map_reopen, NULL);
		fm_list_each(&v->src, fm_map_show_and_unlock, NULL);
		return;
	}
	fm_log(FM_LOG_ERROR, "%s: a mapping is gone: mremap failed half-way "
	       "and could not be undone", v->s->first->file->path);
	fm_sys_munmap(p == a ? a : at, p == a ? v->old_len : v->new_len);
	fm_list_each(&v->src, fm_map_retire, NULL);
}

static void requeue_page(struct fm_map *m, uint64_t i, void *arg)
{
	uint8_t mode = fm_mode(m, i);

	if ((mode & PM_QUEUED) || ((mode & PM_PRESENT) && !(mode & PM_COW)))
		fm_cache_requeue(m, i);
}

/* The same pages under the same locks: no new alias, but where it grows. */
static void publish_moved(struct move *v, uintptr_t to)
{
	for (size_t k = 0; k < v->src.n; k++) {
		struct fm_map *m = v->src.v[k], *n = v->to[k];

		reprotect_map(m, NULL);
		fm_map_place(n, to + (atomic_load(&m->start) - v->a));
		if (v->grows && k + 1 == v->src.n) {
			fm_map_extend(n, v->grows);
			fm_map_note_aliases(n);
		}
		fm_map_publish(n); /* its radix nodes are reserved */
		fm_map_unlink(m);
		fm_map_each(n, 0, fm_map_pages(n), requeue_page, NULL);
		fm_map_unlock_pages(n);
	}
	fm_tail_publish(v->tail, to + v->old_len);
}

static void now_exact(struct move *v)
{
	for (size_t k = 0; k < v->src.n; k++)
		atomic_store(&v->to[k]->vma_prot, true);
	if (v->tail)
		atomic_store(&v->tail->vma_prot, true);
}

static int open_pieces(struct move *v, void *to)
{
	now_exact(v);
	return fm_sys_mprotect(to, v->new_len, atomic_load(&v->s->first->prot));
}

/* Several vmas with userfaultfd do not move by one call. */
static void *move_memory(struct move *v, int flags, void *fixed)
{
	if (!fixed || v->src.n == 1 || v->new_len != v->old_len)
		return fm_uffd_mremap(v->a, v->old_len, v->new_len,
				      flags | MREMAP_MAYMOVE,
				      (uintptr_t)fixed);
	for (size_t k = 0; k < v->src.n; k++) {
		uintptr_t at = atomic_load(&v->src.v[k]->start);
		size_t len = atomic_load(&v->src.v[k]->end) - at;
		void *p = fm_uffd_mremap(at, len, len, flags | MREMAP_MAYMOVE,
					 (uintptr_t)fixed + (at - v->a));

		if (fm_is_err(p))
			return p;
	}
	return fixed;
}

/* It failed half-way: what is not here any more is there. */
static void bring_back(struct move *v, char *fixed)
{
	for (uintptr_t p = v->a; p < v->a + v->old_len; p += FM_PAGE) {
		if (!fm_sys3(SYS_msync, p, FM_PAGE, MS_ASYNC))
			continue;
		fm_uffd_mremap((uintptr_t)fixed + (p - v->a), FM_PAGE, FM_PAGE,
			       MREMAP_MAYMOVE | MREMAP_FIXED, p);
		fm_uffd_take_in((void *)p, FM_PAGE);
	}
}

/* Pages that the kernel moves back when it fails have forgotten, on their way,
 * that they are protected. */
static void not_moved(struct move *v, char *fixed)
{
	if (fixed)
		bring_back(v, fixed);
	fm_uffd_protect((void *)v->a, v->old_len, true);
	fm_list_each(&v->src, reprotect_map, NULL);
	if (fixed)
		fm_list_each(&v->src, fm_map_reopen, NULL);
}

static void *do_move(struct move *v, int flags, void *fixed, bool *ret_moved)
{
	void *a = (void *)v->a, *to;
	int err;

	/* mremap takes the registration from the vma that it arrives in. If
	 * that had merged with a neighbour of ours, the neighbour would lose
	 * its registration too, and read zeroes. A vma of another kind does
	 * not merge (Linux 6.18, move_vma and userfaultfd_reset_ctx). */
	err = fm_sys_madvise(a, v->old_len, MADV_DODUMP) ? -ENOMEM : 0;
	to = (void *)(intptr_t)err;
	/* Whoever knows the new address must not be given zeros there before it
	 * is registered. */
	if (!err && fixed)
		fm_sys_mprotect(a, v->old_len, PROT_NONE);
	if (!err)
		to = move_memory(v, flags, fixed);
	*ret_moved = !fm_is_err(to);
	if (fm_is_err(to)) {
		if (!err)
			not_moved(v, fixed);
		fm_sys_madvise(a, v->old_len, MADV_DONTDUMP);
		fm_list_each(&v->src, fm_map_show_and_unlock, NULL);
		return to;
	}
	err = fm_uffd_take_in(to, v->new_len);
	if (!err && fixed)
		err = open_pieces(v, to);
	if (err) {
		move_back(v, to);
		return (void *)(intptr_t)-ENOMEM;
	}
	publish_moved(v, (uintptr_t)to);
	return to;
}

/* See fixed_replace.h. NULL: not so. The kernel must be asked whether a mapping
 * may grow. */
static void *mremap_refill(struct move *v, const struct fm_over *over, void *to,
			   bool *ret_moved)
{
	int err = v->tail || v->grows
			  ? -ENOTSUP
			  : fm_fixed_replace_refill(over, &v->src,
						    (uintptr_t)to, v->new_len);

	if (err == -ENOTSUP)
		return NULL;
	*ret_moved = true;
	if (err) {
		fm_sys_munmap(to, v->new_len);
		fm_list_each(&v->src, fm_map_show_and_unlock, NULL);
		return (void *)(intptr_t)err;
	}
	now_exact(v);
	fm_sys_munmap((void *)v->a, v->old_len);
	publish_moved(v, (uintptr_t)to);
	return to;
}

static void *move_range(struct move *v, int flags, void *fixed)
{
	uintptr_t t = (uintptr_t)fixed;
	struct fm_over over = { NULL, 0 };
	struct target target = { { NULL, 0 } };
	bool moved = false;
	int err = move_prepare(v);
	void *to = (void *)(intptr_t)err;

	if (err)
		return to;
	/* Clean first: a death while the pages are on their way must lose
	 * nothing. */
	fm_list_each(&v->src, fm_map_flush, NULL);
	if (fixed)
		err = fm_fixed_replace_note(t, t + v->new_len, &over);
	if (fixed && !err)
		err = target_begin(&target, t, fm_page_up(t + v->new_len),
				   &v->src);
	if (!err)
		err = mremap_shut(&v->src, &target.l);
	if (err) {
		fm_free(target.l.v);
		to = (void *)(intptr_t)err;
	} else {
		to = mremap_refill(v, &over, fixed, &moved);
		if (!to)
			to = do_move(v, flags, fixed, &moved);
		target_end(&target, moved);
	}
	fm_fixed_replace_free(&over);
	move_free(v, fm_is_err(to));
	return to;
}

static void *mremap_fixed(struct move *v, int flags, void *new_addr)
{
	size_t more = v->old_len > v->new_len ? v->old_len - v->new_len : 0;
	int err = more ? fm_range_cut(v->a, v->a + v->new_len) : 0;
	void *p;

	if (err)
		return (void *)(intptr_t)err;
	v->old_len -= more;
	p = move_range(v, flags, new_addr);
	/* The rest last: until here nothing is lost if it fails. */
	if (more && !fm_is_err(p) && fm_munmap_locked(v->a + v->new_len, more))
		fm_log(FM_LOG_WARN, "mremap: the end of the old range stays");
	return p;
}

static void *mremap_locked(uintptr_t a, size_t old_len, size_t new_len,
			   int flags, void *new_addr)
{
	struct fm_same s = { .first = NULL };
	struct move v = { .s = &s, .a = a, .old_len = old_len,
			  .new_len = new_len };
	int err = fm_range_cut(a, a + old_len);

	if (!err)
		err = fm_range_maps(a, a + old_len, fm_same_check, &s);
	if (!err && (!s.first || atomic_load(&s.first->start) != a ||
		     s.at != a + old_len))
		err = -EFAULT;
	if (err)
		return (void *)(intptr_t)err;
	if (flags & MREMAP_FIXED)
		return mremap_fixed(&v, flags, new_addr);
	if (new_len < old_len)
		err = fm_munmap_locked(a + new_len, old_len - new_len);
	else if (new_len > old_len)
		err = fm_mremap_grow_in_place(&s, a, old_len, new_len);
	if (new_len > old_len && err && err != -EAGAIN &&
	    (flags & MREMAP_MAYMOVE))
		return move_range(&v, flags, NULL);
	return err ? (void *)(intptr_t)err : (void *)a;
}

/* Refused by the kernel whatever is mapped: let it say why. */
static bool bad_arguments(uintptr_t a, size_t old_len, size_t new_len,
			  int flags, uintptr_t t)
{
	const size_t most = FM_ARCH_END;

	if ((a & FM_PAGE_MASK) || !new_len || new_len > most ||
	    old_len > most || (flags & ~7))
		return true;
	if ((flags & MREMAP_DONTUNMAP) &&
	    (!(flags & MREMAP_MAYMOVE) || old_len != new_len))
		return true;
	return (flags & MREMAP_FIXED) &&
	       (!(flags & MREMAP_MAYMOVE) || (t & FM_PAGE_MASK) || t > most ||
		(t < fm_page_up(a + old_len) && a < fm_page_up(t + new_len)));
}

/* Duplication and DONTUNMAP, and pieces that the kernel would hold as one, are
 * the kernel's: demote what is ours of them. False: it could not be. */
static bool demote_old(void *old, size_t old_len, enum fm_server_reason why)
{
	size_t len = old_len ? old_len : 1;

	if (fm_overlaps(old, len))
		fm_demote_range(old, len, why);
	return !fm_overlaps(old, len);
}

/* What moves, or goes. */
static void mremap_drain(uintptr_t a, size_t old_len, size_t new_len,
			 uintptr_t to)
{
	fm_range_drain(a, a + fm_page_up(old_len), FM_DRAIN_REMOVES);
	if (to)
		fm_range_drain(to, to + fm_page_up(new_len), FM_DRAIN_REMOVES);
}

void *fm_mremap(void *old, size_t old_len, size_t new_len, int flags,
		void *new_addr)
{
	uintptr_t a = (uintptr_t)old, t = (uintptr_t)new_addr;
	bool src, dst;
	uint64_t mask;
	void *p;

	if (bad_arguments(a, old_len, new_len, flags, t))
		return (void *)fm_sys5(SYS_mremap, old, old_len, new_len,
				       flags, new_addr);
	if ((!old_len || (flags & MREMAP_DONTUNMAP)) &&
	    !demote_old(old, old_len, FM_WHY_MREMAP))
		return (void *)(intptr_t)-ENOMEM;
	src = old_len && fm_overlaps(old, old_len);
	dst = (flags & MREMAP_FIXED) && fm_overlaps(new_addr, new_len);
	if (!src && !dst)
		return FM_MOVES_RANGE(old, old_len, new_len, flags, new_addr,
				      (void *)fm_sys5(SYS_mremap, old, old_len,
						      new_len, flags,
						      new_addr));
	if (flags & MREMAP_FIXED) {
		fm_write_before(t, t + fm_page_up(new_len));
		fm_write_before(a, a + fm_page_up(old_len));
	} else if (new_len > old_len) {
		fm_write_before_growth(a, a + fm_page_up(old_len));
	}
	fm_space_lock(&mask);
	mremap_drain(a, old_len, new_len, (flags & MREMAP_FIXED) ? t : 0);
	p = src ? mremap_locked(a, fm_page_up(old_len), fm_page_up(new_len),
				flags, new_addr) :
		  over_target(a, old_len, new_len, flags, t);
	fm_space_unlock(&mask);
	if (src && p == (void *)(intptr_t)-EFAULT &&
	    demote_old(old, old_len, FM_WHY_MREMAP_PIECES))
		p = fm_mremap(old, old_len, new_len, flags, new_addr);
	return p;
}
