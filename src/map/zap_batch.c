/* SPDX-License-Identifier: MIT */
#include "zap_batch.h"

#include "file/file.h"
#include "map.h"
#include "pin_table.h"
#include "uffd.h"

FM_FAULT int fm_drop_forbidden(struct fm_map *m, uint64_t i, _Atomic uint8_t *p)
{
	uint8_t mode = fm_mode(m, i), state = fm_page_state(p);
	uint64_t j;

	if (!fm_mode_charged(mode))
		return -ENOENT;
	if ((state & FP_WB) || fm_pinned(fm_map_addr(m, i), FM_PAGE))
		return -EBUSY;
	if (!(state & FP_DIRTY) || !m->shared)
		return 0;
	return fm_map_holder(m->file, m->pgoff + i, m, &j) ? 0 : -EAGAIN;
}

static FM_FAULT void drop_one(struct fm_map *m, uint64_t i)
{
	uint8_t mode = fm_mode(m, i);

	fm_uffd_drop(fm_map_addr(m, i), FM_PAGE);
	fm_mode_set(m, i, fm_mode_lazy(mode) ? 0 : mode &
			  (PM_QUEUED | PM_MAIN));
	fm_cache_uncharge(m->file, fm_mode_charged(mode));
}

/* What lies there now may be somebody else's. */
static FM_FAULT void drop_torn(struct fm_map *m, uint64_t i, uint64_t n)
{
	for (uint64_t k = i; k < i + n; k++)
		if (!fm_page_gone(m, k))
			drop_one(m, k);
}

FM_FAULT void fm_cache_drop(struct fm_map *m, uint64_t i, uint64_t n)
{
	uint64_t charged = 0;

	if (fm_file_torn(m->file)) {
		drop_torn(m, i, n);
		return;
	}
	fm_uffd_drop(fm_map_addr(m, i), n << FM_PAGE_SHIFT);
	for (uint64_t k = i; k < i + n; k++) {
		uint8_t mode = fm_mode(m, k);

		fm_mode_set(m, k, fm_mode_lazy(mode) ? 0 : mode &
				  (PM_QUEUED | PM_MAIN));
		charged += fm_mode_charged(mode);
	}
	fm_cache_uncharge(m->file, charged);
}

/* Not across 2 MiB: a huge page goes as a whole, or is broken up but once. */
static FM_FAULT bool zap_batch_joins(const struct fm_zap_batch *d,
				     struct fm_map *m, uint64_t i)
{
	return d->m == m && i == d->first + d->n &&
	       (uintptr_t)fm_map_addr(m, i) % FM_HUGE != 0;
}

FM_FAULT void fm_zap_page(struct fm_zap_batch *d, struct fm_map *m, uint64_t i)
{
	if (d->n && !zap_batch_joins(d, m, i))
		fm_zap_now(d);
	if (!d->n) {
		d->m = m;
		d->first = i;
	}
	d->n++;
}

FM_FAULT void fm_zap_now(struct fm_zap_batch *d)
{
	struct fm_map *m = d->m;

	if (!d->n)
		return;
	fm_cache_drop(m, d->first, d->n);
	for (uint64_t i = d->first; i < d->first + d->n && !d->stay_locked; i++)
		fm_page_unlock(fm_file_page(m->file, m->pgoff + i));
	d->n = 0;
}

FM_FAULT void fm_zap_clean(struct fm_zap_batch *d, struct fm_map *m, uint64_t i)
{
	_Atomic uint8_t *p = fm_file_page(m->file, m->pgoff + i);

	if (!p || !fm_page_trylock(p))
		return;
	if (fm_map_current(m, i) &&
	    (fm_mode_lazy(fm_mode(m, i)) || fm_drop_forbidden(m, i, p) == 0))
		fm_zap_page(d, m, i);
	else
		fm_page_unlock(p);
}
