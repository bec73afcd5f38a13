/* SPDX-License-Identifier: MIT */
/*
 * demote_lay.c - the kernel's mappings over all of ours, or over none.
 *
 * Were some of them the kernel's and some ours, stores through one would not be
 * seen by the other. So whatever may be refused, or end in the middle, is over
 * before the first is laid: the process may have the mappings that it takes
 * (vma_room.h), and what the kernel is to have is made elsewhere, by a process
 * that may be killed (kmap.c), the private ones with their pages. It only
 * moves. A file with one mapping changes in one step as it is. Where there is
 * no room for shared ones twice (RLIMIT_AS) a process lays them in place.
 */
#include "demote_lay.h"

#include "base/alloc.h"
#include "base/pause.h"
#include "base/sys.h"
#include "base/vma_room.h"
#include "cache/cache.h"
#include "engine.h"
#include "map/map.h"
#include "mapops.h"
#include "tunables.h"

struct laying {
	struct fm_file *f;
	struct fm_list *l;
	size_t shared, n; /* of l: such ones; before it all are laid */
	struct fm_kmap *kmap; /* of the shared ones, as l */
	struct fm_own *own;   /* of the others */
	struct fm_vma_room room;
	bool elsewhere; /* kmap has been made there */
};

/* ---- one mapping ------------------------------------------------------- */

static void tell_laid(struct fm_file *f, struct fm_map *m)
{
	const struct fm_kmap k = fm_kmap_of(m);

	fm_kmap_laid(f, &k);
	fm_map_tell(m, NULL);
}

static int lay_private(struct fm_file *f, struct fm_map *m)
{
	struct fm_own own;
	int err = fm_own_make(f, m, &own);

	return err ? err : fm_own_lay(&own, m, NULL);
}

int fm_demote_lay(struct fm_file *f, struct fm_map *m)
{
	const struct fm_kmap k = fm_kmap_of(m);
	int err = m->shared ? fm_kernel_map(f, &k) : lay_private(f, m);

	if (!err)
		tell_laid(f, m);
	return err;
}

void fm_clear_modes(struct fm_map *m, uint64_t i, void *arg)
{
	uint8_t mode = fm_mode(m, i);

	if (fm_mode_charged(mode))
		fm_cache_uncharge(m->file, 1);
	fm_mode_set(m, i, 0);
}

/* Evictors must not touch the range once the kernel has it: what they drop of
 * a private mapping would be lost. They look at the mode under the lock. */
static void clear_locked(struct fm_map *m, uint64_t i, void *arg)
{
	_Atomic uint8_t *p = fm_file_page(m->file, m->pgoff + i);

	fm_page_lock(p);
	if (!(fm_mode(m, i) & PM_COW))
		fm_clear_modes(m, i, arg);
	fm_page_unlock(p);
}

/* m stays ours after all: drop the pages that clear_locked has forgotten, and
 * that are still there. */
static void drop_forgotten(struct fm_map *m)
{
	for (uint64_t i = 0; i < fm_map_pages(m); i++) {
		_Atomic uint8_t *p = fm_file_page(m->file, m->pgoff + i);
		uint64_t at = m->mbase + i;

		if (!atomic_load(&m->modes->touched[at >> FM_TOUCH_SHIFT])) {
			i = (at | (FM_TOUCH_PAGES - 1)) - m->mbase;
			continue;
		}
		fm_page_lock(p);
		if (!fm_mode(m, i))
			fm_uffd_drop(fm_map_addr(m, i), FM_PAGE);
		fm_page_unlock(p);
	}
}

/* ---- several mappings --------------------------------------------------- */

/*
 * They are laid one after the other, and stores through one that has been laid
 * would not be seen in pages of ours that are still there in another. So all
 * leave before: who looks waits for the end of the freeze. Where a system call
 * uses a page it stays, for the kernel cannot wait; its mapping is laid before
 * the others.
 */
struct leaving {
	struct fm_zap_batch drop;
	bool used;
};

static void drop_if_clean(struct fm_map *m, uint64_t i, void *arg)
{
	_Atomic uint8_t *p = fm_file_page(m->file, m->pgoff + i);
	struct leaving *l = arg;

	if (!fm_page_trylock(p)) {
		fm_zap_now(&l->drop);
		fm_page_lock(p);
	}
	if ((fm_mode(m, i) & (PM_PRESENT | PM_COW)) == PM_PRESENT &&
	    !(fm_page_state(p) & FP_DIRTY)) {
		if (!fm_pinned(fm_map_addr(m, i), FM_PAGE)) {
			fm_zap_page(&l->drop, m, i);
			return; /* unlocked with it */
		}
		l->used = true;
	}
	fm_page_unlock(p);
}

/* True: a system call uses a page, which stays. */
static bool drop_pages(struct fm_map *m)
{
	struct leaving l = { .used = false };

	fm_map_each(m, 0, fm_map_pages(m), drop_if_clean, &l);
	fm_zap_now(&l.drop);
	return l.used;
}

static void to_front(struct fm_list *l, size_t k, size_t to)
{
	struct fm_map *m = l->v[k];

	l->v[k] = l->v[to];
	l->v[to] = m;
}

static void kmap_to_front(struct laying *y, size_t k, size_t to)
{
	const struct fm_kmap one = y->kmap[k];

	to_front(y->l, k, to);
	y->kmap[k] = y->kmap[to];
	y->kmap[to] = one;
}

/* Shared mappings first, of them those that keep a page. */
static void shared_first(struct fm_list *l, size_t *ret_shared)
{
	size_t to = 0;

	for (size_t k = 0; k < l->n; k++)
		if (l->v[k]->shared)
			to_front(l, k, to++);
	*ret_shared = to;
}

static void drop_and_order(struct laying *y)
{
	const struct fm_list *l = y->l;
	size_t to = 0;

	for (size_t k = 0; l->n > 1 && k < l->n; k++)
		if (drop_pages(l->v[k]) && k < y->shared)
			kmap_to_front(y, k, to++);
}

/*
 * What would stop one of them for good stops all, before the first is laid: the
 * file would be the kernel's and ours, and mappings of it would disagree.
 */

/* Sealed behind our back? The protection that it has is refused then. */
static int may_be_replaced(struct fm_map *m)
{
	int prot = atomic_load(&m->vma_prot) ? atomic_load(&m->prot) :
					       PROT_READ | PROT_WRITE;

	return fm_sys_mprotect((void *)atomic_load(&m->start),
			       fm_map_pages(m) << FM_PAGE_SHIFT, prot);
}

static int may_all(const struct fm_list *l)
{
	int err = 0;

	for (size_t k = 0; l->n > 1 && k < l->n && !err; k++)
		err = may_be_replaced(l->v[k]);
	for (size_t k = 0; k < l->n && !err; k++)
		err = fm_map_whole(l->v[k]) ? 0 : -ENOENT;
	return err;
}

/* ---- had before the first is laid --------------------------------------- */

/* True: there is room for all of them. */
static bool kmaps_elsewhere(struct laying *y)
{
	for (size_t k = 0; k < y->shared; k++) {
		struct fm_kmap *one = &y->kmap[k];

		one->addr = fm_sys_far(one->len, PROT_NONE);
		if (!fm_is_err(one->addr))
			continue;
		while (k-- > 0)
			fm_sys_munmap(y->kmap[k].addr, y->kmap[k].len);
		return false;
	}
	return true;
}

static int make_shared(struct laying *y)
{
	size_t n;

	for (size_t k = 0; k < y->shared; k++)
		y->kmap[k] = fm_kmap_of(y->l->v[k]);
	y->elsewhere = y->l->n > 1 && y->shared && kmaps_elsewhere(y);
	return !y->elsewhere ? 0 : fm_kernel_map_all(y->f, y->kmap, y->shared,
						     NULL, &n);
}

static int make_private(struct laying *y)
{
	int err = 0;

	for (size_t k = y->shared; k < y->l->n && !err; k++)
		err = fm_own_make(y->f, y->l->v[k], &y->own[k - y->shared]);
	return err;
}

static int lay_prepare(struct laying *y)
{
	struct fm_list *l = y->l;
	int err;

	shared_first(l, &y->shared);
	y->kmap = fm_alloc(l->n * sizeof(*y->kmap) +
			   (l->n - y->shared) * sizeof(*y->own));
	if (!y->kmap)
		return -ENOMEM;
	y->own = (struct fm_own *)(y->kmap + l->n);
	for (size_t k = y->shared; k < l->n; k++)
		y->own[k - y->shared].base = NULL;
	err = may_all(l);
	if (!err && l->n > 1)
		err = fm_vma_room_take(&y->room, l->n);
	if (!err)
		err = make_shared(y);
	return err ? err : make_private(y);
}

static void lay_forget(struct laying *y, size_t k)
{
	if (k >= y->shared)
		fm_own_forget(&y->own[k - y->shared], y->l->v[k]);
	else if (y->elsewhere)
		fm_sys_munmap(y->kmap[k].addr, y->kmap[k].len);
}

static void lay_finish(struct laying *y)
{
	for (size_t k = y->n; y->own && k < y->l->n; k++)
		lay_forget(y, k);
	fm_vma_room_end(&y->room);
	fm_free(y->kmap);
}

/* ---- laid --------------------------------------------------------------- */

static int lay_in_place(struct laying *y)
{
	int err = fm_kernel_map_all(y->f, y->kmap, y->shared, &y->room, &y->n);

	for (size_t k = 0; k < y->n; k++)
		tell_laid(y->f, y->l->v[k]);
	return err;
}

/* What has been made moves, but where the process may have no more mappings, or
 * memory is short: that passes. */
static int lay_one(struct laying *y, struct fm_map *m)
{
	const struct fm_kmap *k = &y->kmap[y->n];

	return y->n >= y->shared ?
		       fm_own_lay(&y->own[y->n - y->shared], m, &y->room) :
		       fm_kmap_move(k->addr, (char *)atomic_load(&m->start),
				    k->len, &y->room);
}

static int lay_made(struct laying *y)
{
	int err = 0;

	for (; y->n < y->l->n && !err; y->n += !err) {
		struct fm_map *m = y->l->v[y->n];

		err = lay_one(y, m);
		if (!err)
			tell_laid(y->f, m);
	}
	return err;
}

static int lay_prepared(struct laying *y)
{
	struct fm_list *l = y->l;
	int err = 0;

	drop_and_order(y);
	for (size_t k = 0; k < l->n; k++)
		fm_map_each(l->v[k], 0, fm_map_pages(l->v[k]), clear_locked,
			    NULL);
	if (y->shared && !y->elsewhere)
		err = lay_in_place(y);
	if (!err)
		err = lay_made(y);
	for (size_t k = y->n; k < l->n; k++)
		drop_forgotten(l->v[k]);
	return err;
}

int fm_demote_lay_all(struct fm_file *f, struct fm_list *l, size_t *ret_n)
{
	struct laying y = { .f = f, .l = l };
	int err = lay_prepare(&y);

	if (!err)
		err = lay_prepared(&y);
	lay_finish(&y);
	*ret_n = y.n;
	return err;
}
