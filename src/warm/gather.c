/* SPDX-License-Identifier: MIT */
#include "gather.h"

#include "advise/advise.h"
#include "base/epoch.h"
#include "base/sys.h"
#include "cache/cache.h"
#include "map/map.h"

/* ---- what the engine serves -------------------------------------------- */

static void note(struct fm_map *m, uint64_t i, void *arg)
{
	const uint8_t mode = fm_mode(m, i);
	unsigned level = FM_WARM_NONE;

	if (mode & PM_COW)
		return;
	if (fm_mode_lazy(mode))
		level = FM_WARM_PAST;
	else if (fm_mode_resident(mode))
		level = mode & PM_MAIN ? FM_WARM_MAIN : FM_WARM_RESIDENT;
	fm_warm_raise(arg, m->pgoff + i, level);
}

static void of_map(struct fm_map *m, const struct fm_warm_where *w,
		   struct fm_warm_pages *p)
{
	const uintptr_t start = atomic_load(&m->start);
	const uintptr_t end = atomic_load(&m->end);
	const uintptr_t from = w->start > start ? w->start : start;
	const uintptr_t to = w->end < end ? w->end : end;

	if (from < to)
		fm_map_each(m, (from - start) >> FM_PAGE_SHIFT,
			    (to - start) >> FM_PAGE_SHIFT, note, p);
}

/* Units that have been evicted a moment ago. */
static void of_standby(const struct fm_file *f, struct fm_warm_pages *p)
{
	for (int k = 0; k < fm_chunk_top(); k++) {
		const struct fm_chunk *c = &fm_chunks[k];

		if (!fm_chunk_covers(c, f, 0, UINT64_MAX) || !c->charged)
			continue;
		for (uint64_t fp = c->first; fp < c->first + c->n; fp++)
			fm_warm_raise(p, fp, FM_WARM_PAST);
	}
}

static void of_engine(dev_t dev, ino_t ino, const struct fm_warm_where *w,
		      struct fm_warm_pages *p)
{
	struct fm_file *f;
	struct fm_map *m;

	fm_for_each_file(f, id) {
		if (f->dev != dev || f->ino != ino)
			continue;
		fm_for_each_map(m, f)
			of_map(m, w, p);
		of_standby(f, p);
	}
}

/* ---- what the kernel serves -------------------------------------------- */

#define BATCH ((size_t)512) /* pages */
#define IN_PAGE_TABLE (1ull << 63) /* of pagemap */
#define OF_FILE (1ull << 61)

/* A page that has been touched is in the page table until the kernel reclaims;
 * what else is in the page cache somebody has read, the readahead perhaps.
 * Where pagemap is refused all are alike. */
static void of_batch(int pagemap, uintptr_t at, uint64_t fp, size_t n,
		     struct fm_warm_pages *p)
{
	uint64_t entry[BATCH] = { 0 };
	unsigned char cached[BATCH];

	if (fm_sys3(SYS_mincore, at, n << FM_PAGE_SHIFT, cached))
		return;
	if (pagemap >= 0)
		fm_sys_pread(pagemap, entry, n * sizeof(*entry),
			     (off_t)(at >> FM_PAGE_SHIFT) * 8);
	for (size_t i = 0; i < n; i++) {
		if (!(cached[i] & 1) ||
		    ((entry[i] & IN_PAGE_TABLE) && !(entry[i] & OF_FILE)))
			continue;
		fm_warm_raise(p, fp + i, entry[i] & IN_PAGE_TABLE ?
				      FM_WARM_RESIDENT : FM_WARM_PAST);
	}
}

static void of_range(const struct fm_krange *r, const struct fm_warm_where *w,
		     int pagemap, struct fm_warm_pages *p)
{
	const uintptr_t start = w->start > r->start ? w->start : r->start;
	const uintptr_t end = w->end < r->end ? w->end : r->end;

	for (uintptr_t at = start; at < end; at += BATCH << FM_PAGE_SHIFT) {
		const uint64_t fp = r->pgoff + ((at - r->start) >>
						FM_PAGE_SHIFT);

		if (fp >= p->n)
			return;
		of_batch(pagemap, at, fp,
			 fm_least((end - at) >> FM_PAGE_SHIFT, BATCH), p);
	}
}

#define RANGES 64

static void of_kernel(dev_t dev, ino_t ino, const struct fm_warm_where *w,
		      struct fm_warm_pages *p)
{
	const struct fm_file_id id = { dev, ino };
	struct fm_krange r[RANGES];
	unsigned n;
	int pagemap;

	n = w->dead ? fm_krange_list_dead(r, RANGES) :
		      fm_krange_list(&id, r, RANGES);
	if (!n)
		return;
	pagemap = fm_sys_open("/proc/self/pagemap", O_RDONLY, 0);
	for (unsigned i = 0; i < n && i < RANGES; i++)
		if (r[i].dev == dev && r[i].ino == ino)
			of_range(&r[i], w, pagemap, p);
	if (pagemap >= 0)
		fm_sys_close(pagemap);
}

void fm_warm_gather(dev_t dev, ino_t ino, const struct fm_warm_where *w,
		    struct fm_warm_pages *p)
{
	const unsigned e = w->dead ? 0 : fm_epoch_enter();

	of_engine(dev, ino, w, p);
	if (!w->dead)
		fm_epoch_leave(e);
	of_kernel(dev, ino, w, p);
}
