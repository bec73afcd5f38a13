/* SPDX-License-Identifier: MIT */
#include "mremap_grow.h"

#include <errno.h>

#include "base/sys.h"
#include "file/file.h"
#include "map.h"
#include "space.h"

#define SPARE ((uint64_t)1 << 18) /* size: mode bytes behind a mapping */

int fm_same_check(struct fm_map *m, void *arg)
{
	struct fm_same *s = arg;

	if (!s->first) {
		s->first = m;
	} else if (atomic_load(&m->start) != s->at || m->pgoff != s->pgoff ||
		   m->file != s->first->file ||
		   m->shared != s->first->shared ||
		   m->prot != s->first->prot) {
		return -EFAULT;
	}
	s->last = m;
	s->at = atomic_load(&m->end);
	s->pgoff = m->pgoff + fm_map_pages(m);
	return 0;
}

/* Pages of mode bytes for a tail: as many again as the pieces have, so that the
 * number of pieces grows with the logarithm of the size; at most a GiB's worth
 * to spare. */
static uint64_t mremap_grow_room_for(const struct fm_same *s, uint64_t pages)
{
	uint64_t spare =
		(s->at - atomic_load(&s->first->start)) >> FM_PAGE_SHIFT;
	uint64_t most = FM_MAX_FILE_PAGES - s->pgoff;

	if (spare > SPARE)
		spare = SPARE;
	return pages + spare < most ? pages + spare : pages;
}

/* Who touches a group of pages touches all that there are mode bytes for. */
static uint64_t leaves_for(const struct fm_same *s, uint64_t pages)
{
	uint64_t room = mremap_grow_room_for(s, pages);

	if (!fm_file_grow_leaves(s->first->file, s->pgoff, room))
		return room;
	return fm_file_grow_leaves(s->first->file, s->pgoff, pages) ? 0 : pages;
}

struct fm_map *fm_tail_new(const struct fm_same *s, size_t len)
{
	uint64_t room = leaves_for(s, len >> FM_PAGE_SHIFT);
	struct fm_map *like = s->first, *t;

	t = room ? fm_map_new_room(like->file, 0, len, s->pgoff, room) : NULL;
	if (!t)
		return NULL;
	fm_file_get(like->file);
	t->prot = atomic_load(&like->prot);
	t->shared = like->shared;
	t->maywrite = like->maywrite;
	t->noreserve = like->noreserve;
	t->fd = like->fd;
	atomic_store(&t->vma_prot, atomic_load(&like->vma_prot));
	atomic_store(&t->advice, atomic_load(&like->advice));
	atomic_store(&t->ahead_most, atomic_load(&like->ahead_most));
	fm_vma_advice_grow(&t->modes->said, 0, t->modes->used,
			   &s->last->modes->said,
			   s->last->mbase + fm_map_pages(s->last) - 1);
	return t;
}

void fm_map_place(struct fm_map *m, uintptr_t start)
{
	size_t len = atomic_load(&m->end) - atomic_load(&m->start);

	atomic_store(&m->start, start);
	atomic_store(&m->end, start + len);
}

void fm_tail_publish(struct fm_map *t, uintptr_t start)
{
	if (!t)
		return;
	fm_map_place(t, start);
	fm_map_note_aliases(t);
	fm_map_publish(t); /* its radix nodes are reserved */
}

int fm_mremap_grow_in_place(const struct fm_same *s, uintptr_t a,
			    size_t old_len, size_t new_len)
{
	uint64_t pages = (new_len - old_len) >> FM_PAGE_SHIFT;
	bool fits = fm_map_may_grow(s->last, pages);
	struct fm_map *t = fits ? NULL : fm_tail_new(s, new_len - old_len);
	void *p = (void *)(intptr_t)-ENOMEM;

	if ((fits || t) && !fm_space_reserve(1))
		p = (void *)fm_sys5(SYS_mremap, a, old_len, new_len, 0, 0);
	if (fm_is_err(p)) {
		fm_map_discard(t);
		return (int)(intptr_t)p;
	}
	if (fits)
		fm_map_grow(s->last, pages);
	fm_tail_publish(t, a + old_len);
	return 0;
}
