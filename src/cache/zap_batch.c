/* SPDX-License-Identifier: MIT */
#include "zap_batch.h"

#include "cache.h"
#include "file/file.h"
#include "file/page.h"
#include "map/map.h"

/* Not across 2 MiB: a huge page goes as a whole, or is broken up but once. */
static FM_FAULT bool joins(const struct fm_drop *d, struct fm_map *m,
			   uint64_t i)
{
	return d->m == m && i == d->first + d->n &&
	       (uintptr_t)fm_map_addr(m, i) % FM_HUGE != 0;
}

FM_FAULT void fm_drop_page(struct fm_drop *d, struct fm_map *m, uint64_t i)
{
	if (d->n && !joins(d, m, i))
		fm_drop_now(d);
	if (!d->n) {
		d->m = m;
		d->first = i;
	}
	d->n++;
}

FM_FAULT void fm_drop_now(struct fm_drop *d)
{
	struct fm_map *m = d->m;

	if (!d->n)
		return;
	fm_cache_drop(m, d->first, d->n);
	for (uint64_t i = d->first; i < d->first + d->n && !d->stay_locked; i++)
		fm_page_unlock(fm_file_page(m->file, m->pgoff + i));
	d->n = 0;
}
