/* SPDX-License-Identifier: MIT */
/* msync.c - write back a range of the address space, and wait for the disk. */
#include "base/lock.h"
#include "base/sys.h"
#include "engine.h"
#include "file/file.h"
#include "map/map.h"
#include "mapops.h"
#include "tunables.h"
#include "writeback/writeback.h"

#define PARTS 64 /* at a time */

struct part {
	struct fm_file *file;
	uint64_t first, stop;
};

struct sync_range {
	uintptr_t start, end;
	struct part part[PARTS];
	unsigned n;
};

/* Collected under the lock, written without it: msync of one thread must not
 * hold up the mmap of another. Non-zero: go on from there the next time. */
static int msync_collect(struct fm_map *m, void *arg)
{
	struct sync_range *s = arg;
	struct part *p = s->n ? &s->part[s->n - 1] : NULL;
	uintptr_t a = atomic_load(&m->start), e = atomic_load(&m->end);
	uint64_t first;

	if (a < s->start)
		a = s->start;
	if (e > s->end)
		e = s->end;
	first = m->pgoff + ((a - atomic_load(&m->start)) >> FM_PAGE_SHIFT);
	if (m->shared && p && p->file == m->file && p->stop == first) {
		p->stop += (e - a) >> FM_PAGE_SHIFT;
	} else if (m->shared) {
		if (s->n == PARTS) {
			s->start = a;
			return 1;
		}
		fm_file_get(m->file);
		p = &s->part[s->n++];
		*p = (struct part){ m->file, first,
				    first + ((e - a) >> FM_PAGE_SHIFT) };
	}
	return 0;
}

static int sync_part(const struct part *p, bool last_of_file)
{
	int err = fm_wb_range(p->file, p->first, p->stop, true);
	int late = fm_wb_error(p->file);

	if (!err)
		err = late;
	if (!err && last_of_file)
		err = fm_wb_sync(p->file);
	return err;
}

/* The first error counts. */
static int sync_parts(struct sync_range *s)
{
	int res = 0;

	for (unsigned i = 0; i < s->n; i++) {
		struct part *p = &s->part[i];
		bool last = i + 1 == s->n || p[1].file != p->file;
		int err = sync_part(p, last);

		if (err && !res)
			res = fm_wb_told(err);
		fm_file_put(p->file);
	}
	s->n = 0;
	return res;
}

int fm_msync(void *addr, size_t len, int flags)
{
	/* The kernel judges the arguments and the holes; on our anonymous
	 * memory it does nothing else. What is demoted meanwhile it has not
	 * written yet: then it is asked again. */
	const unsigned demotions = fm_demote_count();
	int res = (int)fm_sys3(SYS_msync, addr, len, flags), first = 0, more;
	struct sync_range s = { .n = 0 };
	uint64_t old, mask;

	if ((res && res != -ENOMEM) || !len)
		return res;
	/* As in the kernel: what is dirty is written in its time. */
	if (!(flags & MS_SYNC))
		return res;
	s.start = (uintptr_t)addr;
	s.end = fm_page_up(s.start + len);
	do {
		int err;

		/* A handler that jumps out would leave the files held. */
		fm_block_signals(&mask);
		fm_space_lock(&old);
		more = fm_range_maps(s.start, s.end, msync_collect, &s);
		fm_space_unlock(&old);
		err = sync_parts(&s);
		fm_restore_signals(&mask);
		if (!first)
			first = err;
	} while (more);
	if (fm_demote_count() != demotions)
		res = (int)fm_sys3(SYS_msync, addr, len, flags);
	return first ? first : res;
}

/* ---- before what keeps the space lock while it writes ------------------ */

static void write_parts(struct sync_range *s)
{
	for (unsigned i = 0; i < s->n; i++) {
		struct part *p = &s->part[i];

		if (fm_dirty_count(p->file) > fm_tune.wb_ahead &&
		    !fm_wb_refused(p->file))
			fm_wb_range(p->file, p->first, p->stop, false);
		fm_file_put(p->file);
	}
	s->n = 0;
}

void fm_write_before(uintptr_t start, uintptr_t end)
{
	struct sync_range s = { .start = start, .end = end };
	uint64_t old, mask;
	int more;

	if (atomic_load(&fm_dirty_total) <= fm_tune.wb_ahead ||
	    end - start <= fm_tune.wb_ahead << FM_PAGE_SHIFT)
		return;
	do {
		fm_block_signals(&mask);
		fm_space_lock(&old);
		more = fm_range_maps(s.start, s.end, msync_collect, &s);
		fm_space_unlock(&old);
		write_parts(&s);
		fm_restore_signals(&mask);
	} while (more);
}

void fm_write_before_growth(uintptr_t start, uintptr_t end)
{
	bool moves = !fm_sys3(SYS_msync, end, FM_PAGE, MS_ASYNC);

	if (moves)
		fm_write_before(start, end);
}
