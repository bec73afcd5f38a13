/* SPDX-License-Identifier: MIT */
#include "gather.h"

#include "base/epoch.h"
#include "base/sys.h"
#include "cache/cache.h"
#include "map/map.h"
#include "ranges.h"

/* ---- what the engine serves -------------------------------------------- */

static void gather_note(struct fm_map *m, uint64_t i, void *arg)
{
	const uint8_t mode = fm_mode(m, i);
	unsigned level = FM_HOT_NONE;

	if (mode & PM_COW)
		return;
	if (fm_mode_lazy(mode))
		level = FM_HOT_PAST;
	else if (fm_mode_resident(mode))
		level = mode & PM_MAIN ? FM_HOT_MAIN : FM_HOT_RESIDENT;
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
			    (to - start) >> FM_PAGE_SHIFT, gather_note, p);
}

/* Units that have been evicted a moment ago. */
static void of_standby(const struct fm_file *f, struct fm_warm_pages *p)
{
	for (int k = 0; k < fm_chunk_top(); k++) {
		const struct fm_chunk *c = &fm_chunks[k];

		if (!fm_chunk_covers(c, f, 0, UINT64_MAX) || !c->charged)
			continue;
		for (uint64_t fp = c->first; fp < c->first + c->n; fp++)
			fm_warm_raise(p, fp, FM_HOT_PAST);
	}
}

static void gather_of_engine(dev_t dev, ino_t ino,
			     const struct fm_warm_where *w,
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
#define IN_PAGE_TABLE (1ull << 63) /* ABI: of pagemap */
#define OF_FILE (1ull << 61) /* ABI: of pagemap */

/* How the pages of a file are looked at. */
struct looks {
	int pagemap;     /* -1: refused, all that is cached is alike */
	bool sees_cache; /* mincore(2) says what is there */
};

/* Page by page: a page that has been touched is in the page table until the
 * kernel reclaims; what else is in the page cache somebody has read, the
 * readahead perhaps. */
static unsigned level_of(uint64_t entry, bool cached)
{
	if (entry & IN_PAGE_TABLE)
		return entry & OF_FILE ? FM_HOT_RESIDENT : FM_HOT_NONE;
	return cached ? FM_HOT_PAST : FM_HOT_NONE;
}

static void of_batch(const struct looks *l, uintptr_t at, uint64_t fp,
		     size_t n, struct fm_warm_pages *p)
{
	uint64_t entry[BATCH] = { 0 };
	unsigned char cached[BATCH] = { 0 };

	if (l->sees_cache)
		fm_sys3(SYS_mincore, at, n << FM_PAGE_SHIFT, cached);
	if (l->pagemap >= 0)
		fm_sys_pread(l->pagemap, entry, n * sizeof(*entry),
			     (off_t)(at >> FM_PAGE_SHIFT) * 8);
	for (size_t i = 0; i < n; i++)
		fm_warm_raise(p, fp + i, level_of(entry[i], cached[i] & 1));
}

static void gather_of_range(const struct fm_krange *r,
			    const struct fm_warm_where *w,
			    const struct looks *l, struct fm_warm_pages *p)
{
	const uintptr_t start = w->start > r->start ? w->start : r->start;
	const uintptr_t end = w->end < r->end ? w->end : r->end;

	for (uintptr_t at = start; at < end; at += BATCH << FM_PAGE_SHIFT) {
		const uint64_t fp = r->pgoff + ((at - r->start) >>
						FM_PAGE_SHIFT);

		if (fp >= p->n)
			return;
		of_batch(l, at, fp, fm_least((end - at) >> FM_PAGE_SHIFT,
					     BATCH), p);
	}
}

static void gather_of_kernel(const struct fm_warm_record *r,
			     const struct fm_warm_where *w,
			     struct fm_warm_pages *p)
{
	struct fm_warm_ranges list = fm_warm_ranges_of(r->dev, r->ino,
						       w->dead);
	struct looks l;

	if (list.n) {
		l.sees_cache = fm_sys_sees_cache(r->path, r->dev, r->ino);
		l.pagemap = fm_sys_open("/proc/self/pagemap", O_RDONLY, 0);
		for (unsigned i = 0; i < list.n; i++)
			gather_of_range(&list.at[i], w, &l, p);
		if (l.pagemap >= 0)
			fm_sys_close(l.pagemap);
	}
	fm_warm_ranges_free(&list);
}

void fm_warm_gather(const struct fm_warm_record *r,
		    const struct fm_warm_where *w, struct fm_warm_pages *p)
{
	const unsigned e = w->dead ? 0 : fm_epoch_enter();

	gather_of_engine(r->dev, r->ino, w, p);
	if (!w->dead)
		fm_epoch_leave(e);
	gather_of_kernel(r, w, p);
}
