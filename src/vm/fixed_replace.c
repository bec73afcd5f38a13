/* SPDX-License-Identifier: MIT */
#include "fixed_replace.h"

#include "base/alloc.h"
#include "base/snapshot.h"
#include "base/sys.h"
#include "engine.h"
#include "file/file.h"
#include "map/map.h"
#include "mapops.h"

struct note {
	struct fm_snapshot *s;
	uintptr_t start, end;
};

static int put_part(struct fm_map *m, void *arg)
{
	const struct note *n = arg;
	uintptr_t a = atomic_load(&m->start), e = atomic_load(&m->end);

	fm_snapshot_put(n->s, &(struct fm_fixed_replace_part){
		a > n->start ? a : n->start, e < n->end ? e : n->end });
	return 0;
}

static void put_parts(struct fm_snapshot *s, void *arg)
{
	struct note *n = arg;

	n->s = s;
	fm_range_maps(n->start, n->end, put_part, n);
}

int fm_fixed_replace_note(uintptr_t start, uintptr_t end, struct fm_over *o)
{
	struct note note = { NULL, start, end };
	struct fm_snapshot s;
	int err = fm_snapshot(&s, sizeof(*o->v), put_parts, &note);

	*o = (struct fm_over){ s.list, s.n };
	return err;
}

void fm_fixed_replace_free(struct fm_over *o)
{
	fm_free(o->v);
	*o = (struct fm_over){ NULL, 0 };
}

int fm_fixed_replace_lay_new(uintptr_t start, uintptr_t end, int prot)
{
	size_t len = end - start;
	void *at = (void *)start, *p;
	int err;

	p = fm_sys_mmap(at, len, PROT_NONE,
			MAP_PRIVATE | MAP_ANONYMOUS | MAP_NORESERVE | MAP_FIXED,
			-1, 0);
	if (fm_is_err(p))
		return (int)(intptr_t)p;
	err = fm_uffd_lay(at, len);
	if (err || prot == PROT_NONE)
		return err;
	return fm_sys_mprotect(at, len, prot);
}

static int fixed_replace_empty(const struct fm_fixed_replace_part *p, int prot)
{
	void *at = (void *)p->start;
	int err = fm_uffd_drop(at, p->end - p->start);

	return err ? err : fm_sys_mprotect(at, p->end - p->start, prot);
}

int fm_fixed_replace_lay(const struct fm_over *o, uintptr_t start,
			 uintptr_t end, int prot)
{
	int err = 0;

	for (size_t k = 0; k < o->n && !err; k++) {
		if (start < o->v[k].start)
			err = fm_fixed_replace_lay_new(start, o->v[k].start,
						       prot);
		if (!err)
			err = fixed_replace_empty(&o->v[k], prot);
		start = o->v[k].end;
	}
	if (!err && start < end)
		err = fm_fixed_replace_lay_new(start, end, prot);
	return err;
}

/* Are all of its pages, which are locked, in the file? */
static bool may_forget(struct fm_map *m)
{
	uint64_t end = m->pgoff + fm_map_pages(m);
	uint64_t fp = fm_dirty_next(m->file, m->pgoff, end);

	for (; fp < end; fp = fm_dirty_next(m->file, fp + 1, end))
		if (fm_mode(m, fp - m->pgoff) & PM_PRESENT)
			return false;
	return m->shared &&
	       !fm_pinned(fm_map_addr(m, 0), fm_map_pages(m) << FM_PAGE_SHIFT);
}

static void fixed_replace_forget_page(struct fm_map *m, uint64_t i, void *arg)
{
	uint8_t mode = fm_mode(m, i);

	if (fm_mode_charged(mode))
		fm_cache_uncharge(m->file, 1);
	fm_mode_set(m, i, mode & PM_LOCKED);
}

static int fixed_replace_forget(struct fm_map *m, void *arg)
{
	fm_map_each(m, 0, fm_map_pages(m), fixed_replace_forget_page, arg);
	return 0;
}

static bool fixed_replace_is_all(const struct fm_over *o, uintptr_t start,
				 uintptr_t end)
{
	for (size_t k = 0; k < o->n && o->v[k].start == start; k++)
		start = o->v[k].end;
	return start == end;
}

int fm_fixed_replace_refill(const struct fm_over *o, const struct fm_list *src,
			    uintptr_t to, size_t len)
{
	int err;

	if (!atomic_load(&fm_threads) || !fixed_replace_is_all(o, to, to + len))
		return -ENOTSUP;
	for (size_t k = 0; k < src->n; k++)
		if (!may_forget(src->v[k]))
			return -ENOTSUP;
	err = fm_fixed_replace_lay(o, to, to + len,
				   atomic_load(&src->v[0]->prot));
	return err ? -ENOMEM : fm_list_each(src, fixed_replace_forget, NULL);
}
