/* SPDX-License-Identifier: MIT */
#include "coherence.h"

#include "base/pause.h"
#include "cache/cache.h"
#include "file/file.h"
#include "map/map.h"

/* One that is protected already is protected again: what lies there may not be
 * ours any more, and the kernel says so. */
static FM_FAULT int demote_to_shared(struct fm_map *o, uint64_t j)
{
	uint8_t mode = fm_mode(o, j);
	int err;

	if (!(mode & PM_WRITABLE))
		return fm_uffd_protect(fm_map_addr(o, j), FM_PAGE, true);
	if (fm_pinned_in(fm_map_addr(o, j), FM_PAGE))
		return -EBUSY;
	err = fm_uffd_protect(fm_map_addr(o, j), FM_PAGE, true);
	if (!err)
		fm_mode_set(o, j, mode & (uint8_t)~PM_WRITABLE);
	return err;
}

/* UFFDIO_COPY reads the source as the kernel, which a PROT_NONE mapping
 * refuses: open it for the moment of the copy. For stores, too: an mprotect by
 * the program may just have allowed them, and who makes one must run into write
 * protection, not into a denial. Under the space lock: the program's own
 * mprotect would take it away before the copy, or be undone after it. */
static FM_FAULT long install_opened(struct fm_map *m, uint64_t i,
				    struct fm_map *o, uint64_t j)
{
	void *from = fm_map_addr(o, j);
	long n;
	int err;

	if (atomic_load(&o->modes->bare))
		fm_uffd_protect(from, FM_PAGE, true);
	err = fm_sys_mprotect(from, FM_PAGE, PROT_READ | PROT_WRITE);
	if (err)
		return err;
	n = fm_install(m, i, from, 1, false);
	fm_sys_mprotect(from, FM_PAGE, atomic_load(&o->prot));
	return n;
}

/* For the lock a fault may not wait, but try again. */
static FM_FAULT long install_denied(struct fm_map *m, uint64_t i,
				    struct fm_map *o, uint64_t j)
{
	uint64_t mask;
	long n;

	if (fm_space_locked())
		return install_opened(m, i, o, j);
	if (!fm_space_trylock(&mask)) {
		fm_sys_sleep_us(FM_PAUSE_US);
		return -EAGAIN;
	}
	n = install_opened(m, i, o, j);
	fm_space_unlock(&mask);
	return n;
}

FM_FAULT int fm_share_from_peer(struct fm_map *m, uint64_t i)
{
	uint64_t j;
	struct fm_map *o = fm_map_holder(m->file, m->pgoff + i, m, &j);
	long n;
	int err;

	if (!o)
		return 0;
	err = demote_to_shared(o, j);
	if (err == -ENOENT && fm_page_gone(o, j))
		return -EAGAIN; /* who else has it? */
	if (err)
		return err;
	fm_count(&m->file->st->hits_alias, 1);
	fm_cache_charge(m->file, 1);
	/* The charge may have evicted the other copy? No: its page lock is
	 * ours. */
	n = fm_install(m, i, fm_map_addr(o, j), 1, false);
	if (n == -EFAULT)
		n = install_denied(m, i, o, j);
	fm_cache_uncharge(m->file, n <= 0);
	return n == -EFAULT && fm_page_gone(o, j) ? -EAGAIN : (int)n;
}

/* Shared copies and untouched private ones; a private copy that was stored
 * to is the program's own. */
static FM_FAULT bool holds_copy(struct fm_map *o, uint64_t j)
{
	uint8_t mode = fm_mode(o, j);

	return (mode & PM_PRESENT) && !(mode & PM_COW);
}

FM_FAULT int fm_invalidate_peers(struct fm_map *m, uint64_t i)
{
	struct fm_map *o;
	uint64_t fp = m->pgoff + i;

	fm_for_each_map(o, m->file) {
		uint64_t j;

		if (!fm_map_covers(o, fp, &j) || fm_same_copy(o, j, m, fp) ||
		    !holds_copy(o, j))
			continue;
		if (fm_pinned(fm_map_addr(o, j), FM_PAGE))
			return -EBUSY;
		/* A write-back in flight may yet read from this copy. */
		if (fm_page_state(fm_file_page(m->file, fp)) & FP_WB)
			return -EAGAIN;
		fm_cache_drop(o, j, 1);
	}
	return 0;
}
