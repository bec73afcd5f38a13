/* SPDX-License-Identifier: MIT */
/*
 * punch.c - MADV_REMOVE: a hole in the file where memory is mapped, as
 * fallocate(FALLOC_FL_PUNCH_HOLE) makes it.
 */
#include "base/sys.h"
#include "engine.h"
#include "file/file.h"
#include "io/io.h"
#include "map/map.h"
#include "vm/vm.h"

/* A part of the range that lies in one mapping of ours. */
struct hole {
	struct fm_file *f;
	uintptr_t from, to; /* addresses */
	off_t off;
	bool may, can; /* by the program; by the engine */
};

/* Whether it counts that nothing can be stored at the moment depends on the
 * kernel: then it is asked. */
static void hole_judge(const struct fm_map *m, struct hole *h)
{
	h->may = m->shared && m->maywrite;
	h->can = fm_store_of(m->file)->keeps && !fm_only_engine(m->file) &&
		 (atomic_load(&m->prot) & PROT_WRITE);
}

/* The next one, and a reference to its file. */
static bool hole_next(uintptr_t at, uintptr_t end, struct hole *h)
{
	struct fm_map *m;

	FM_HOLD_SPACE();
	m = fm_space_next(at, end, &h->from);
	if (m) {
		const uintptr_t start = atomic_load(&m->start);

		h->to = fm_least(end, atomic_load(&m->end));
		h->off = (off_t)((m->pgoff << FM_PAGE_SHIFT) + h->from - start);
		h->f = m->file;
		hole_judge(m, h);
		fm_file_get(h->f);
	}
	return m;
}

static int hole_by_kernel(uintptr_t from, uintptr_t to)
{
	return fm_sys_madvise((void *)from, to - from, MADV_REMOVE);
}

static int hole_make(const struct hole *h)
{
	struct fm_io io = { .file = h->f, .op = FM_FALLOCATE, .buffered = true,
			    .punch = true, .off = (uint64_t)h->off,
			    .len = h->to - h->from };
	long err;

	do
		err = fm_io_once(&io);
	while (err == -EINTR);
	return err < 0 ? (int)err : 0;
}

/* Who holds the range of a file that is not frozen keeps its server. */
static int hole_punch(const struct hole *h)
{
	struct fm_range r;
	int err = fm_range_lock_hole(h->f, h->off, (off_t)(h->to - h->from),
				     &r);

	if (err)
		return err;
	if (fm_kernel_serves(h->f)) {
		fm_range_unlock(&r, false, false);
		return hole_by_kernel(h->from, h->to);
	}
	fm_file_has_holes(h->f);
	err = hole_make(h);
	fm_range_unlock(&r, !err, false);
	return err;
}

static int hole_do(const struct hole *h)
{
	if (!h->may)
		return -EACCES;
	if (h->can)
		return hole_punch(h);
	fm_demote_range((void *)h->from, h->to - h->from, FM_WHY_MADVISE);
	return hole_by_kernel(h->from, h->to);
}

/* What is not mapped is an error that does not stop it. */
static int punch_range(uintptr_t at, uintptr_t end)
{
	struct hole h;
	int missing = 0, err = 0;

	while (at < end && !err) {
		const bool ours = hole_next(at, end, &h);

		if (!ours)
			h.from = h.to = end;
		err = h.from > at ? hole_by_kernel(at, h.from) : 0;
		if (err == -ENOMEM) {
			missing = err;
			err = 0;
		}
		if (ours) {
			err = err ? err : hole_do(&h);
			fm_file_put(h.f);
		}
		at = h.to;
	}
	return err ? err : missing;
}

FM_UP(madvise_remove, punch_range)
