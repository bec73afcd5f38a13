/* SPDX-License-Identifier: MIT */
/* ranges.c - memory that is not needed soon, or always, and how it is going to
 * be read. */
#include <errno.h>
#include <sys/mman.h>

#include "advise/advise.h"
#include "api.h"
#include "cache/cache.h"
#include "engine.h"
#include "file/file.h"
#include "map/map.h"
#include "readahead/readahead.h"

#ifndef MADV_PAGEOUT
#define MADV_PAGEOUT 21 /* ABI: Linux 5.4 */
#endif

/* ---- release ------------------------------------------------------------ */

/* Pages of a file that the engine has; or file is NULL. */
struct piece {
	uintptr_t start, end;
	struct fm_file *file; /* a reference */
	uint64_t first;       /* page */
};

static void piece_at(uintptr_t a, uintptr_t end, struct piece *ret)
{
	uintptr_t at = end;
	struct fm_map *m;

	FM_HOLD_SPACE();
	m = fm_space_next(a, end, &at);
	*ret = (struct piece){ a, m ? at : end, NULL, 0 };
	if (m && at == a) {
		fm_file_get(m->file);
		ret->file = m->file;
		ret->first = m->pgoff +
			     ((a - atomic_load(&m->start)) >> FM_PAGE_SHIFT);
		ret->end = fm_least(end, atomic_load(&m->end));
	}
}

/* What has been read ahead and not been touched yet goes, too. Dirty pages that
 * cannot be written stay. */
static int release_engine(const struct piece *p)
{
	const size_t len = p->end - p->start;
	int err = fm_file_flush(p->file, (off_t)(p->first << FM_PAGE_SHIFT),
				(off_t)len);

	fm_chunk_forget(p->file, p->first, p->first + (len >> FM_PAGE_SHIFT));
	fm_madvise((void *)p->start, len, MADV_PAGEOUT);
	return err;
}

/* The kernel leaves dirty pages to its own write-back. What is not mapped, or
 * no file, is no error. */
static int release_kernel(const struct piece *p)
{
	const size_t len = p->end - p->start;
	int err = (int)fm_sys3(SYS_msync, p->start, len, MS_SYNC);

	fm_sys_madvise((void *)p->start, len, MADV_PAGEOUT);
	return err == -ENOMEM || err == -EBUSY ? 0 : err;
}

static int release(const struct fm_api_range *r)
{
	struct piece p = { 0, r->start, NULL, 0 };
	int err = 0;

	fm_overlaps((void *)r->start, r->end - r->start);
	while (!err && p.end < r->end) {
		piece_at(p.end, r->end, &p);
		if (!p.file) {
			err = release_kernel(&p);
			continue;
		}
		err = release_engine(&p);
		fm_file_put(p.file);
	}
	return err;
}

int fm_api_release(const struct fastmap_range *range, size_t n)
{
	int err = 0;

	for (size_t k = 0; k < n && !err; k++) {
		const struct fm_api_range r = fm_api_range(&range[k]);

		if (r.start < r.end)
			err = release(&r);
	}
	return err;
}

/* ---- pin ---------------------------------------------------------------- */

/* The engine leaves others an eighth of its cache; the kernel keeps what is
 * locked, whatever it costs the rest. */
static bool pin_fits(uintptr_t a, uintptr_t end)
{
	const uint64_t all = fm_mem_monitor_all();

	return !all || fm_krange_pinned_beside(a, end) + (end - a) <=
			       all - all / 8;
}

static int pin_kernel(uintptr_t a, uintptr_t end, bool pin)
{
	if (!fm_krange_in((void *)a, end - a))
		return 0;
	return pin && !pin_fits(a, end) ? -ENOMEM : fm_krange_pin(a, end, pin);
}

/* Under the space lock: no file changes its server meanwhile. */
static int pin_range(const struct fm_api_range *r, bool pin)
{
	uintptr_t a = r->start, end, at;
	struct fm_map *m;
	int err = 0;

	for (; a < r->end && !err; a = end) {
		m = fm_space_next(a, r->end, &at);
		end = m ? at : r->end;
		if (!m || at > a) {
			err = pin_kernel(a, end, pin);
			continue;
		}
		end = fm_least(r->end, atomic_load(&m->end));
		fm_shares_pin(m->file, m->pgoff + ((a - atomic_load(&m->start))
						   >> FM_PAGE_SHIFT),
			      (end - a) >> FM_PAGE_SHIFT, pin);
	}
	return err;
}

int fm_api_pin(const struct fastmap_range *range, size_t n, bool pin)
{
	int err = 0;

	for (size_t k = 0; k < n && !err; k++) {
		const struct fm_api_range r = fm_api_range(&range[k]);

		if (r.start >= r.end)
			continue;
		fm_overlaps((void *)r.start, r.end - r.start);
		FM_HOLD_SPACE();
		err = pin_range(&r, pin);
	}
	return err;
}

/* ---- advise ------------------------------------------------------------- */

/* By FASTMAP_NORMAL and so on. */
static const int advice[] = { MADV_NORMAL, MADV_RANDOM, MADV_SEQUENTIAL };

static int advise(const struct fm_api_range *r, int said, uint32_t ahead)
{
	void *at = (void *)r->start;

	fm_krange_said(at, r->end - r->start, said);
	return fm_madvise_ahead(at, r->end - r->start, said, ahead);
}

/* What is not mapped does not keep the rest from being advised. */
int fm_api_advise(const struct fastmap_range *range, size_t n, int pattern,
		  size_t depth)
{
	const uint32_t ahead = (uint32_t)fm_least(fm_page_up(depth) >>
						  FM_PAGE_SHIFT, UINT32_MAX);
	int err = 0, hole = 0;

	if (pattern < 0 ||
	    (size_t)pattern >= sizeof(advice) / sizeof(advice[0]))
		return -EINVAL;
	for (size_t k = 0; k < n && !err; k++) {
		const struct fm_api_range r = fm_api_range(&range[k]);

		if (r.start < r.end)
			err = advise(&r, advice[pattern], ahead);
		hole |= err == -ENOMEM;
		err = err == -ENOMEM ? 0 : err;
	}
	return err ? err : hole ? -ENOMEM : 0;
}
