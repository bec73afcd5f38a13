/* SPDX-License-Identifier: MIT */
#include "coherence.h"

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
	fm_count(&m->file->st.hits_alias, 1);
	fm_cache_charge(m->file, 1);
	/* The charge may have evicted the other copy? No: its page lock is
	 * ours. UFFDIO_COPY reads the source as the kernel, which a PROT_NONE
	 * mapping refuses: open it for the moment of the copy. For stores, too:
	 * an mprotect by the program may just have allowed them, and who makes
	 * one must run into write protection, not into a denial. */
	n = fm_install(m, i, fm_map_addr(o, j), 1, false);
	if (n != -EFAULT) {
		fm_cache_uncharge(m->file, n <= 0);
		return (int)n;
	}
	if (atomic_load(&o->modes->bare))
		fm_uffd_protect(fm_map_addr(o, j), FM_PAGE, true);
	fm_sys_mprotect(fm_map_addr(o, j), FM_PAGE, PROT_READ | PROT_WRITE);
	n = fm_install(m, i, fm_map_addr(o, j), 1, false);
	/* mprotect by the program may come at the same time: it says what it
	 * wants before, or after, it does it. */
	for (int was = -1, prot; was != (prot = atomic_load(&o->prot));
	     was = prot)
		fm_sys_mprotect(fm_map_addr(o, j), FM_PAGE, prot);
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
